package engine_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
)

// run drives one graph, with a new engine after each crash and edit.
type run struct {
	s       *sim
	owner   inventory.Owner
	graph   plan // as users want it
	running plan // as the engine knows it
	rg      *v1alpha1.ResourceGraph
	// removed is set if the graph is to be deleted.
	removed bool
	before  *plan // a graph to go back to
	options engine.Options

	stored  *inventory.Inventory
	version int  // of the stored inventory
	began   bool // the graph has the finalizer
	// Reordered is set once the inventory was lost: it doesn't know the order of the
	// objects any more. Lost is set if a search couldn't see a kind.
	reordered, lost bool

	engine *engine.Engine
	epoch  int // counts engines
	flying int
	phase  engine.Phase
	err    error
	kicked bool
	sent   []func() // requests in flight
	wakes  int

	scoped map[string]bool // kinds and versions whose scope the engine knows
	scopes map[string]bool // watches: kinds by label, keys by name
	good   map[inventory.Key]time.Time
	listed map[inventory.Key]time.Time // since when the stored inventory has it
	last   map[inventory.Key]lastPlanned
	ran    map[inventory.Key]time.Time // until when an engine had it in its graph

	// departures is the memory of the process.
	departures *engine.Departures
	jumped     bool // the wall clock jumped forwards in the life of the process
	// excused is when a process started after such a jump: earlier departures look older
	// to it than they are.
	excused time.Time

	everAdopted map[inventory.Key]bool

	writes, records int
}

func (r *run) id() string { return "graph " + r.owner.Name }

// start starts a process: it creates a new engine without memory.
func (r *run) start() {
	r.departures = engine.NewDepartures(0)
	if r.jumped {
		r.excused, r.jumped = r.s.now, false
	}
	r.reload()
}

// reload creates a new engine in the process.
func (r *run) reload() {
	r.options.Departures = r.departures
	r.epoch++
	r.sent = nil
	r.flying, r.phase, r.err, r.scopes = 0, engine.Executing, nil, map[string]bool{}
	for _, n := range r.running.nodes {
		r.ran[keyOf(n.name)] = r.s.now
	}
	r.running = r.graph.clone()
	stored := r.load()
	// The finalizer tells later engines that this one began.
	r.options.NeverApplied, r.options.Applied = !r.began, r.began
	r.began = true
	// A new process knows no kinds until it looks them up.
	scopesKnown := r.s.chance(0.5)
	r.scoped = map[string]bool{"ConfigMap/v1": true, "Job/v1": true}
	for _, kind := range []string{"Thing/v1", "Thing/v2", "World/v1", "World/v2"} {
		r.scoped[kind] = scopesKnown
	}
	r.options.Namespaced = func(gvk schema.GroupVersionKind) (namespaced, known bool) {
		return scopesKnown && gvk.Kind != "World", scopesKnown
	}
	if r.removed {
		if stored == nil {
			stored = &inventory.Inventory{Owner: r.owner}
		}
		r.engine = engine.NewDelete(stored, r.options)
	} else {
		r.rg = r.graph.build(r.owner)
		e, err := engine.New(r.rg, stored, r.options)
		if err != nil {
			r.s.fail("%s: %v", r.id(), err)
		}
		r.engine = e
	}
	r.s.logf("%s: starts with %d entries: %s", r.id(), len(r.engine.Inventory().Entries), r.graph)
	r.noteGraph()
	r.kick()
}

// crash discards the engine. Requests that were sent may still arrive before the next
// engine's Survey.
func (r *run) crash() {
	r.s.logf("%s: crashes", r.id())
	r.engine = nil
	r.epoch++
	for _, arrive := range r.sent {
		if r.s.chance(0.5) {
			arrive()
		}
	}
	r.sent = nil
}

func (r *run) load() *inventory.Inventory {
	if r.stored == nil {
		return nil
	}
	inv := *r.stored
	inv.Entries = slices.Clone(inv.Entries)
	inv.Stored = r.version
	if r.s.chaos && r.s.chance(0.1) {
		r.s.logf("%s: its inventory is that of an earlier version, which assumed namespaces", r.id())
		for i := range inv.Entries {
			inv.Entries[i].Namespace = r.owner.Namespace
		}
		*r.stored = inv
		r.stored.Entries = slices.Clone(inv.Entries)
	}
	return &inv
}

var errConflict = errors.New("the inventory was saved by another run")

// save simulates the store of inventories.
func (r *run) save(inv *inventory.Inventory) error {
	based, _ := inv.Stored.(int)
	switch {
	case r.stored != nil && inventory.Equal(r.stored, inv):
	case based != r.version:
		return errConflict
	case len(inv.Entries) == 0 && inv.Complete:
		r.stored, r.version = nil, 0
		inv.Stored = 0
		return nil
	default:
		saved := *inv
		saved.Entries = slices.Clone(inv.Entries)
		r.s.count++
		r.stored, r.version = &saved, r.s.count
	}
	inv.Stored = r.version
	r.noteListed()
	return nil
}

// kick schedules a step of the engine, so that answers and events that arrive together
// are processed together.
func (r *run) kick() {
	if r.kicked {
		return
	}
	r.kicked = true
	delay := time.Duration(0)
	if r.s.chance(0.3) {
		delay = r.s.upTo(20 * time.Millisecond)
	}
	r.s.after(delay, func() {
		r.kicked = false
		if r.engine != nil {
			r.step()
		}
	})
}

func (r *run) step() {
	step := r.engine.Step(r.s.now)
	for _, change := range step.Changes {
		name := change.ID
		if name == "" {
			name = change.Key.Name
		}
		r.s.logf("%s: %s %s %s %s", r.id(), name, change.Phase, change.Reason, change.Message)
	}
	if step.Phase != r.phase {
		r.s.logf("%s: %s", r.id(), step.Phase)
	}
	r.phase, r.err = step.Phase, r.engine.Err()
	for _, a := range step.Actions {
		r.check(a)
		r.send(a)
	}
	r.follow()
	if !step.Wake.IsZero() {
		r.wakes++
		n := r.wakes
		r.s.after(max(0, step.Wake.Sub(r.s.now)), func() {
			if n == r.wakes {
				r.kick()
			}
		})
	}
}

// send executes an action after a random delay and answers after another one. The
// request or the answer may be lost.
func (r *run) send(a engine.Action) {
	s, epoch := r.s, r.epoch
	r.flying++
	arrives, lost := !s.chaos || !s.chance(0.06), s.chaos && s.chance(0.06)
	arrived := false
	arrive := func() {
		if arrived {
			return
		}
		arrived = true
		alive := epoch == r.epoch && r.engine != nil
		var o engine.Outcome
		switch {
		case !arrives:
			o.Err = &engine.Failure{Reason: engine.ReasonApplyFailed, Message: "internal error"}
			if s.chance(0.3) {
				o.Err = errors.New("connection reset")
			}
		case a.Verb == engine.Record:
			inv := *a.Inventory
			o.Err = r.save(&inv)
			o.Saved = &inv
			r.records++
		default:
			o = s.cluster.do(r, a, alive)
			if a.Verb == engine.Apply || a.Verb == engine.Delete || a.Verb == engine.Release {
				r.writes++
			}
		}
		result := "done"
		if lost && o.Err == nil {
			o, result = engine.Outcome{Err: errors.New("timed out")}, "done, but the answer is lost"
		} else if o.Err != nil {
			result = o.Err.Error()
		}
		s.logf("%s: %s %s%s: %s", r.id(), a.Verb, a.Key.Name, appliedText(a), result)
		s.after(s.upTo(longest/4), func() {
			if epoch == r.epoch && r.engine != nil {
				r.flying--
				r.answer(a, o)
				r.kick()
			}
		})
	}
	r.sent = append(r.sent, arrive)
	s.after(s.upTo(longest/4), func() {
		if epoch == r.epoch {
			arrive()
		}
	})
}

func appliedText(a engine.Action) string {
	if a.Apply == nil {
		return ""
	}
	return fmt.Sprintf(" over %q", a.Apply.UID)
}

func (r *run) answer(a engine.Action, o engine.Outcome) {
	if errors.Is(o.Err, errConflict) {
		stored := r.load()
		if stored == nil {
			stored = &inventory.Inventory{Owner: r.owner}
		}
		if stored.Revision != a.Inventory.Revision && stored.Revision != "" {
			r.s.logf("%s: superseded", r.id())
			r.crash()
			r.start()
			return
		}
		r.engine.Rebase(stored)
	}
	if a.Verb == engine.Discover && o.Err == nil {
		r.scoped[a.Key.Kind+"/"+a.Version] = true
	}
	r.engine.Done(a, o)
}

// follow starts the watches of the awaited objects. They begin with a list.
func (r *run) follow() {
	for t := range r.engine.Awaited() {
		scope := t.Key.String()
		if t.Labeled {
			scope = t.Key.Kind
		}
		if r.scopes[scope] {
			continue
		}
		r.scopes[scope] = true
		for _, key := range slices.SortedFunc(maps.Keys(r.s.cluster.objects), inventory.Key.Compare) {
			o := r.s.cluster.objects[key]
			if key == t.Key || t.Labeled && key.Kind == t.Key.Kind && r.owner.Owns(o.labels()) {
				r.deliver(o.unstructured(), false)
			}
		}
	}
}

// watch reports a change to the engine if one of its watches sees it. For a watch with
// a label selector, an object that loses its labels is deleted.
func (r *run) watch(before, now *unstructured.Unstructured, gone bool) {
	if r.engine == nil {
		return
	}
	if r.s.cluster.kinds[now.GetKind()].hidden(r.s.now) {
		return
	}
	key := inventory.Key{Group: now.GroupVersionKind().Group, Kind: now.GetKind(), Namespace: now.GetNamespace(), Name: now.GetName()}
	if r.scopes[key.String()] {
		r.deliver(now, gone)
	}
	if !r.scopes[key.Kind] {
		return
	}
	was := before != nil && r.owner.Owns(before.GetLabels())
	is := r.owner.Owns(now.GetLabels()) && !gone
	switch {
	case is:
		r.deliver(now, false)
	case was:
		last := before.DeepCopy()
		last.SetResourceVersion(now.GetResourceVersion())
		r.deliver(last, true)
	}
}

func (r *run) deliver(obj *unstructured.Unstructured, gone bool) {
	if r.s.chaos && r.s.chance(0.03) {
		return // the watch was down
	}
	epoch := r.epoch
	r.s.after(r.s.upTo(longest), func() {
		if r.engine == nil || epoch != r.epoch {
			return
		}
		if gone {
			r.engine.ObserveGone(obj)
		} else {
			r.engine.Observe(obj)
		}
		r.kick()
	})
}
