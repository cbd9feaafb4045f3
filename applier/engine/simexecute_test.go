package engine_test

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/applier/readiness"
	"github.com/pequod-io/pequod/inventory"
)

var errReplaced = &engine.Failure{Reason: engine.ReasonApplyFailed, Message: "was replaced by another object of its name"}
var errKeepChanged = &engine.Failure{Reason: engine.ReasonKeepChanged, Message: "was annotated since in another way"}

// do executes an action on the simulated cluster, like package cluster on a real one.
func (c *cluster) do(r *run, a engine.Action, alive bool) engine.Outcome {
	a.Key = inCluster(a.Key)
	if o, unserved := c.unserved(a); unserved {
		return o
	}
	return c.convert(a, c.execute(r, a, alive))
}

// execute executes an action on a kind that is served.
func (c *cluster) execute(r *run, a engine.Action, alive bool) engine.Outcome {
	o := c.objects[a.Key]
	switch a.Verb {
	case engine.Discover:
		if r.s.chaos && r.s.chance(0.3) {
			return engine.Outcome{Err: &engine.Failure{Reason: engine.ReasonUnknownKind, Message: "there is no " + a.Key.Kind}}
		}
		return engine.Outcome{Namespaced: a.Key.Kind != "World"}
	case engine.Survey:
		o := c.survey(r, a)
		if a.Search {
			o = c.search(r, o)
		}
		return o
	case engine.Read:
		return seen(o)
	case engine.Apply:
		return c.apply(r, a, alive)
	case engine.Delete:
		if o != nil && o.uid != a.UID {
			return engine.Outcome{Err: errReplaced}
		}
		if o != nil && o.labels()[v1alpha1.LabelGraph] != r.owner.Name && a.Node == "" {
			return engine.Outcome{Err: errReplaced} // it changed since and isn't the graph's
		}
		if o != nil && o.kept {
			return engine.Outcome{Err: errKeepChanged}
		}
		if o != nil {
			r.checkRemoval(a, o, alive)
			c.remove(o)
		}
		return seen(c.objects[a.Key])
	case engine.Release:
		if o == nil || o.uid != a.UID {
			return engine.Outcome{Err: errReplaced}
		}
		if a.Kept != "" && !o.kept {
			return engine.Outcome{Err: errKeepChanged}
		}
		c.release(r, o, a.NewOwner)
		return seen(o)
	case engine.LoadClaims:
		var all []*inventory.Inventory
		for _, other := range r.s.runs {
			switch {
			case other.stored != nil:
				all = append(all, other.stored)
			case other != r && other.rg != nil && !other.removed:
				namespaced := func(gvk schema.GroupVersionKind) (bool, bool) { return gvk.Kind != "World", true }
				all = append(all, &inventory.Inventory{Owner: other.owner, Entries: engine.DesiredEntries(other.rg, namespaced)})
			}
		}
		return engine.Outcome{Claims: inventory.ClaimsOn(r.owner, all)}
	case engine.Explain:
		return engine.Outcome{Found: readiness.Verdict{Message: "because"}}
	}
	panic(a.Verb)
}

// inCluster returns the key under which the API server finds an object: requests for
// cluster-scoped objects have no namespace.
func inCluster(key inventory.Key) inventory.Key {
	if key.Kind == "World" {
		key.Namespace = ""
	}
	return key
}

func seen(o *object) engine.Outcome {
	if o == nil {
		return engine.Outcome{}
	}
	return engine.Outcome{Object: o.unstructured()}
}

func (c *cluster) survey(r *run, a engine.Action) engine.Outcome {
	out := engine.Outcome{Unreadable: map[inventory.Key]error{}}
	kinds, wanted := map[string]bool{}, map[inventory.Key]inventory.Key{}
	for _, t := range a.Targets {
		err, served := c.unreadable(t)
		switch {
		case served:
			kinds[t.Kind], wanted[inCluster(t.Key)] = true, t.Key
		case err != nil:
			out.Unreadable[t.Key] = err
			out.Unlisted = err
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(c.objects), inventory.Key.Compare) {
		o := c.objects[key]
		target, isWanted := wanted[key]
		if isWanted && r.s.chaos && r.s.chance(0.05) {
			out.Unreadable[target] = errors.New("couldn't be read")
		} else if isWanted || kinds[key.Kind] && r.owner.Owns(o.labels()) {
			out.Objects = append(out.Objects, o.unstructured())
		}
	}
	return out
}

func (c *cluster) apply(r *run, a engine.Action, alive bool) engine.Outcome {
	o, want := c.objects[a.Key], fieldsOf(a.Apply.Object)
	switch {
	case a.Apply.UID == "" && o != nil:
		return engine.Outcome{Err: &engine.Failure{Reason: engine.ReasonApplyFailed, Message: "was created by others at the same time"}}
	case a.Apply.UID != "" && (o == nil || o.uid != a.Apply.UID):
		return engine.Outcome{Err: errReplaced}
	}
	created := o == nil
	if created {
		o = c.create(a.Key)
	} else {
		r.checkWrite(a, o, alive)
		if was := o.fields["spec:fixed"]; was != "" && was != want["spec:fixed"] {
			return engine.Outcome{Err: &engine.Failure{Reason: engine.ReasonImmutable, Message: "fixed is immutable", Terminal: true, Immutable: true}}
		}
	}
	if a.Apply.Adopt {
		for f := range o.managers["kubectl"] {
			if o.managers[a.Apply.Manager] == nil {
				o.managers[a.Apply.Manager] = fieldSet{}
			}
			o.managers[a.Apply.Manager][f] = true
		}
		delete(o.managers, "kubectl")
	}
	before := maps.Clone(o.fields)
	conflicts, changed := o.apply(a.Apply.Manager, want, a.Apply.Force)
	if len(conflicts) > 0 && !a.Apply.Force {
		return engine.Outcome{Err: &engine.Failure{Reason: engine.ReasonConflict, Message: "conflict on " + strings.Join(conflicts, ", "), Terminal: true}}
	}
	if changed || created {
		r.noteWrite(a.Key)
		c.changed(o, created || !maps.Equal(spec(before), spec(o.fields)))
	}
	return engine.Outcome{Object: o.unstructured(), Created: created, Changed: changed || created}
}

// spec returns the fields whose change increments the generation.
func spec(fields map[string]string) map[string]string {
	fields = maps.Clone(fields)
	maps.DeleteFunc(fields, func(f, _ string) bool { return !strings.HasPrefix(f, "spec:") })
	return fields
}

func (c *cluster) release(r *run, o *object, to *inventory.Owner) {
	if o.labels()[v1alpha1.LabelGraph] != r.owner.Name {
		return
	}
	for f := range o.fields {
		if strings.HasPrefix(f, "label:pequod.io/") {
			o.edit(releaser, f, "")
		}
	}
	if to != nil {
		// A graph may drop an object between the other graph's LoadClaims and the
		// hand-over. Then the object is orphaned.
		for _, other := range r.s.runs {
			if _, listed := other.listed[o.key]; other.owner == *to && (!listed || other.running.index(o.key.Name) < 0) {
				r.s.dropped[o.key] = true
			}
		}
		for name, v := range to.Labels() {
			o.edit(releaser, "label:"+name, v)
		}
	} else {
		delete(o.managers, engine.FieldManager)
		delete(o.managers, releaser)
	}
	r.noteWrite(o.key)
	c.changed(o, false)
}
