package engine

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/applier/fields"
	"github.com/pequod-io/pequod/applier/readiness"
	"github.com/pequod-io/pequod/inventory"
)

// Snapshot is what is kept of an engine that has nothing to do: a few hundred bytes
// for each object, enough to tell news that matter from those that don't, and
// to go on without a survey. It isn't safe for use by several goroutines.
type Snapshot struct {
	owner    inventory.Owner
	revision string
	objects  map[inventory.Key]*resting
}

// resting is an object as it was last seen, and what is looked for in it.
type resting struct {
	observed
	manager  string
	ignore   []fields.Path
	gate     *readiness.Checker
	external bool
	// every change counts: an expression reads the object.
	every bool
}

// Snapshot gives what is to be kept of an engine that is [Completed].
func (e *Engine) Snapshot() *Snapshot {
	r := &Snapshot{owner: e.owner, revision: e.revision, objects: make(map[inventory.Key]*resting, len(e.nodes))}
	for _, n := range e.nodes {
		seen := e.world[n.key]
		if seen == nil {
			continue
		}
		kept := &resting{
			observed: *seen, manager: n.manager, ignore: n.ignore, gate: n.gate, external: n.external,
			every: n.read || n.gate.HasExpressions() || seen.err != nil,
		}
		kept.object, kept.holders = nil, nil
		if n.gate.HasExpressions() {
			kept.gate = nil
		}
		r.objects[n.key] = kept
	}
	return r
}

// Resume has an engine of the same revision go on from where another rested. What
// was said to have changed, and what expressions read, it reads anew. It reports
// whether it could.
func (e *Engine) Resume(r *Snapshot) bool {
	if r.revision != e.revision || r.owner != e.owner {
		return false
	}
	e.surveyed, e.lost = true, false
	for key, o := range r.objects {
		if n := e.byKey[key]; n != nil && !n.read && o.err == nil {
			seen := o.observed
			e.learn(key, &seen)
		}
	}
	return true
}

// Observe says whether an object changed in a way that matters. It is then
// forgotten, and read or observed by the engine that resumes.
func (r *Snapshot) Observe(obj *unstructured.Unstructured) bool {
	key := r.keyOf(obj)
	o := r.objects[key]
	if o == nil {
		return false
	}
	if version := obj.GetResourceVersion(); version == o.version || older(version, o.version) {
		return false
	}
	if r.same(o, obj) {
		o.version = obj.GetResourceVersion()
		return false
	}
	delete(r.objects, key)
	return true
}

// same says whether an object is what it was, as far as its graph goes.
func (r *Snapshot) same(o *resting, obj *unstructured.Unstructured) bool {
	if o.every || o.absent || obj.GetUID() != o.uid || (obj.GetDeletionTimestamp() != nil) != o.deleting {
		return false
	}
	if o.gate.Evaluate(obj).State != o.verdict.State {
		return false
	}
	if o.external {
		return true
	}
	owner, owned := inventory.OwnerOf(obj.GetLabels())
	if owned != o.owned || owner != o.owner {
		return false
	}
	live, err := fields.OwnedDigest(obj, o.manager, o.ignore)
	return err == nil && live == o.live
}

// ObserveGone is Observe of an object that was seen to go.
func (r *Snapshot) ObserveGone(obj *unstructured.Unstructured) bool {
	key := r.keyOf(obj)
	o := r.objects[key]
	if o == nil || o.absent || o.uid != obj.GetUID() || older(obj.GetResourceVersion(), o.version) {
		return false
	}
	delete(r.objects, key)
	return true
}

// ObserveAll is Observe of everything in a place, as [Engine.ObserveAll].
func (r *Snapshot) ObserveAll(gk schema.GroupKind, namespace, name, version string, objects []unstructured.Unstructured) bool {
	here, changed := place{gk, namespace}, false
	listed := make(map[inventory.Key]bool, len(objects))
	for i := range objects {
		listed[r.keyOf(&objects[i])] = true
		changed = r.Observe(&objects[i]) || changed
	}
	for key, o := range r.objects {
		if placeOf(key) != here || name != "" && key.Name != name || o.absent || listed[key] {
			continue
		}
		if (o.mine || name != "") && !older(version, o.version) {
			delete(r.objects, key)
			changed = true
		}
	}
	return changed
}

func (r *Snapshot) keyOf(obj *unstructured.Unstructured) inventory.Key {
	key := KeyOf(obj)
	if key.Namespace == "" && r.objects[key] == nil {
		guessed := key
		guessed.Namespace = r.owner.Namespace
		if r.objects[guessed] != nil {
			return guessed
		}
	}
	return key
}
