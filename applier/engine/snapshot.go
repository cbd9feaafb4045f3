package engine

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/applier/fields"
	"github.com/pequod-io/pequod/applier/readiness"
	"github.com/pequod-io/pequod/internal/resourceversion"
	"github.com/pequod-io/pequod/inventory"
)

// Snapshot is the memory of an engine that is [Completed]: a few hundred bytes per
// object, instead of the engine. It recognizes events that matter, and a new
// engine of the same revision can [Engine.Resume] from it without a Survey. It is
// not safe for concurrent use.
type Snapshot struct {
	owner    inventory.Owner
	revision string
	// objects has no entry for an object that changed.
	objects map[inventory.Key]*snapshotObject
}

// snapshotObject is an object as it was last observed, and how to compare it.
type snapshotObject struct {
	observation
	manager string
	ignore  []fields.Path
	// checker is nil if everyChange is set because it has expressions.
	checker  *readiness.Checker
	external bool
	// everyChange is set if no change can be ignored, for example because
	// expressions read the object.
	everyChange bool
}

// Snapshot returns the state to keep of a Completed engine.
func (e *Engine) Snapshot() *Snapshot {
	s := &Snapshot{owner: e.owner, revision: e.revision, objects: make(map[inventory.Key]*snapshotObject, len(e.nodes.all))}
	for _, n := range e.nodes.all {
		seen := e.cache.objects[n.key]
		if seen == nil {
			continue
		}
		kept := &snapshotObject{
			observation: *seen, manager: n.policy.manager, ignore: n.policy.ignore, checker: n.checker, external: n.policy.external,
			everyChange: n.referenced || n.checker.HasExpressions() || seen.err != nil,
		}
		kept.object, kept.size, kept.finalizers = nil, 0, nil
		if n.checker.HasExpressions() {
			kept.checker = nil
		}
		s.objects[n.key] = kept
	}
	return s
}

// Resume initializes an engine from a snapshot, instead of with a Survey. Objects
// that changed since, and those that expressions read, are read again. It does
// nothing and returns false if the snapshot is of another revision, or if the
// inventory was lost and has to be searched for.
func (e *Engine) Resume(s *Snapshot) bool {
	if s.revision != e.revision || s.owner != e.owner || e.opts.Applied && e.ledger.lost {
		return false
	}
	e.survey.done, e.ledger.lost = true, false
	for key, o := range s.objects {
		if n := e.nodes.byKey[key]; n != nil && !n.referenced && o.err == nil {
			seen := o.observation
			e.put(key, &seen)
		}
	}
	return true
}

// Observe reports whether an object changed in a way that needs a run. If so, the
// snapshot forgets the object: the engine that resumes has to observe or read it.
func (s *Snapshot) Observe(obj *unstructured.Unstructured) bool {
	key := s.keyOf(obj)
	o := s.objects[key]
	if o == nil {
		return false
	}
	if version := obj.GetResourceVersion(); version == o.version || resourceversion.Older(version, o.version) {
		return false
	}
	if o.unchanged(obj) {
		o.version = obj.GetResourceVersion()
		return false
	}
	delete(s.objects, key)
	return true
}

// unchanged reports whether nothing changed that matters to the graph: identity,
// deletion, readiness, ownership, and the fields that the graph manages.
func (o *snapshotObject) unchanged(obj *unstructured.Unstructured) bool {
	if o.everyChange || o.absent || obj.GetUID() != o.uid || (obj.GetDeletionTimestamp() != nil) != o.deleting {
		return false
	}
	if o.checker.Evaluate(obj).State != o.verdict.State {
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

// ObserveGone is Observe for a deletion event.
func (s *Snapshot) ObserveGone(obj *unstructured.Unstructured) bool {
	key := s.keyOf(obj)
	o := s.objects[key]
	if o == nil || o.absent || o.uid != obj.GetUID() || resourceversion.Older(obj.GetResourceVersion(), o.version) {
		return false
	}
	delete(s.objects, key)
	return true
}

// ObserveAll is Observe for a list. The parameters are those of [Engine.ObserveAll].
func (s *Snapshot) ObserveAll(gk schema.GroupKind, namespace, name, version string, objects []unstructured.Unstructured) bool {
	here, changed := location{gk, namespace}, false
	listed := make(map[inventory.Key]bool, len(objects))
	for i := range objects {
		listed[s.keyOf(&objects[i])] = true
		changed = s.Observe(&objects[i]) || changed
	}
	for key, o := range s.objects {
		if locationOf(key) != here || name != "" && key.Name != name || o.absent || listed[key] {
			continue
		}
		if (o.mine || name != "") && !resourceversion.Older(version, o.version) {
			delete(s.objects, key)
			changed = true
		}
	}
	return changed
}

// keyOf is [Engine.keyOfObject] for the objects of the snapshot.
func (s *Snapshot) keyOf(obj *unstructured.Unstructured) inventory.Key {
	key := KeyOf(obj)
	if key.Namespace == "" && s.objects[key] == nil {
		assumed := key
		assumed.Namespace = s.owner.Namespace
		if s.objects[assumed] != nil {
			return assumed
		}
	}
	return key
}
