package engine_test

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
)

// availability is what the simulated cluster serves of a kind that a definition defines.
type availability struct {
	served map[string]bool // versions
	// down is set while the API group can't be discovered. The objects exist.
	down bool
	// removed is set while the definition doesn't exist. The objects were deleted.
	removed bool
	// stale is until when requests reach an API server that doesn't know the kind.
	stale time.Time
}

// definedKinds returns the kinds that definitions define, all versions served.
func definedKinds() map[string]*availability {
	kinds := map[string]*availability{}
	for _, kind := range []string{"Thing", "World"} {
		kinds[kind] = &availability{served: map[string]bool{"v1": true, "v2": true}}
	}
	return kinds
}

// hidden reports whether requests for any version fail.
func (k *availability) hidden(now time.Time) bool {
	return k != nil && (k.down || k.removed || now.Before(k.stale) || len(k.served) == 0)
}

var errUnavailable = &engine.Failure{Reason: engine.ReasonKindUnavailable, Message: "the group can't be discovered"}

// unserved returns the outcome of an action on a kind that isn't served in the version
// of the action, and whether that is so.
func (c *cluster) unserved(a engine.Action) (engine.Outcome, bool) {
	k := c.kinds[a.Key.Kind]
	if k == nil || a.Verb == engine.Survey {
		return engine.Outcome{}, false
	}
	left := a.Node == "" && a.Verb != engine.Discover
	switch {
	case k.down:
		return engine.Outcome{Err: errUnavailable}, true
	case k.removed, c.s.now.Before(k.stale):
	case len(k.served) == 0 && left:
		return engine.Outcome{Err: errUnavailable}, true // the definition exists
	case left, k.served[a.Version]:
		return engine.Outcome{}, false
	}
	if left || a.Verb == engine.Apply || a.Verb == engine.Discover {
		return engine.Outcome{Err: &engine.Failure{Reason: engine.ReasonUnknownKind, Message: "no such kind"}}, true
	}
	return engine.Outcome{}, true
}

// convert sets the version of an object in an outcome to one that is served.
func (c *cluster) convert(a engine.Action, o engine.Outcome) engine.Outcome {
	k := c.kinds[a.Key.Kind]
	if o.Object == nil || k == nil {
		return o
	}
	version := a.Version
	if !k.served[version] {
		version = slices.Sorted(maps.Keys(k.served))[0]
	}
	o.Object = o.Object.DeepCopy()
	o.Object.SetAPIVersion("example.com/" + version)
	return o
}

// unreadable returns why a Survey can't read a target, and whether the cluster serves
// its kind in the version.
func (c *cluster) unreadable(t engine.Target) (err error, served bool) {
	switch k := c.kinds[t.Kind]; {
	case k == nil:
		return nil, true
	case k.down:
		return errUnavailable, false
	case !k.hidden(c.s.now) && k.served[t.Version]:
		return nil, true
	case t.Left:
		return &engine.Failure{Reason: engine.ReasonUnknownKind, Message: "no such kind"}, false
	}
	return nil, false
}

// disturbKind makes a kind, or some versions of it, go for a while.
func (s *sim) disturbKind() {
	name := []string{"Thing", "World"}[s.pick(2)]
	k := s.cluster.kinds[name]
	if k.removed || k.down {
		return
	}
	some := func() map[string]bool {
		return []map[string]bool{{"v1": true}, {"v2": true}, {"v1": true, "v2": true}}[s.pick(3)]
	}
	back := func() {
		s.logf("%s: served in %v again", name, slices.Sorted(maps.Keys(k.served)))
		k.down, k.removed = false, false
		if len(k.served) == 0 {
			k.served = some()
		}
		s.rewatch(true)
	}
	switch s.pick(5) {
	case 0:
		k.served = some()
		s.logf("%s: served in %v only", name, slices.Sorted(maps.Keys(k.served)))
	case 1:
		k.served = nil
		s.logf("%s: served in no version", name)
		s.after(s.upTo(30*time.Second), back)
	case 2:
		k.down = true
		s.logf("%s: can't be discovered", name)
		s.after(s.upTo(40*time.Second), back)
	case 3:
		k.stale = s.now.Add(s.upTo(3 * time.Second))
		s.logf("%s: unknown to an API server for a moment", name)
	case 4:
		s.logf("%s: its definition is deleted", name)
		for key, o := range maps.Clone(s.cluster.objects) {
			if key.Kind == name {
				s.meddled[key] = s.now
				s.cluster.gone(o)
			}
		}
		k.removed = true
		s.after(s.upTo(20*time.Second), back)
	}
	s.rewatch(false)
}

// rewatch breaks all watches. They begin again with a list, as soon as a step follows.
// The controller begins a new run when a kind is served again.
func (s *sim) rewatch(restart bool) {
	for _, r := range s.runs {
		if r.engine == nil {
			continue
		}
		r.scopes = map[string]bool{}
		if restart && s.chance(0.5) {
			r.crash()
			r.reload()
		}
		r.kick()
	}
}

// serveKinds ends everything that disturbKind began. Users change the graphs to a
// version that is served.
func (s *sim) serveKinds() {
	for _, k := range s.cluster.kinds {
		k.down, k.removed, k.stale = false, false, time.Time{}
		if len(k.served) == 0 {
			k.served = map[string]bool{"v2": true}
		}
	}
	for _, r := range s.runs {
		for i := range r.graph.nodes {
			n := &r.graph.nodes[i]
			if k := s.cluster.kinds[keyOf(n.name).Kind]; k != nil && !k.served[n.apiVersion()] {
				n.version = slices.Sorted(maps.Keys(k.served))[0]
			}
		}
	}
}

// search simulates the search for all objects with the labels of a graph. It doesn't see
// kinds that the API server doesn't know of.
func (c *cluster) search(r *run, o engine.Outcome) engine.Outcome {
	for _, key := range slices.SortedFunc(maps.Keys(c.objects), inventory.Key.Compare) {
		k := c.kinds[key.Kind]
		switch {
		case !r.owner.Owns(c.objects[key].labels()):
		case k.hidden(c.s.now) && !k.down:
			r.lost = true
		case !k.hidden(c.s.now):
			o.Objects = append(o.Objects, c.objects[key].unstructured())
		}
	}
	for _, k := range c.kinds {
		if k.down {
			o.Unsearched = []engine.Unsearched{{Group: "example.com", Reason: "it is down"}}
		}
	}
	return o
}

// apiVersion returns the version of the node's object, without its group.
func (n planned) apiVersion() string {
	if n.version == "" || strings.HasPrefix(n.name, "c") || strings.HasPrefix(n.name, "j") {
		return "v1"
	}
	return n.version
}
