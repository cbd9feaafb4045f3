package engine

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/applier/fields"
	"github.com/pequod-io/pequod/applier/readiness"
	"github.com/pequod-io/pequod/internal/resourceversion"
	"github.com/pequod-io/pequod/inventory"
)

// Snapshot is the memory of an engine that is [Completed]: some 250 bytes per
// object, instead of the engine. It recognizes events that matter, and a new
// engine of the same revision can [Engine.Resume] from it without a Survey. It is
// not safe for concurrent use.
type Snapshot struct {
	owner    inventory.Owner
	revision string
	// objects has no entry for an object that changed. It is sorted by key.
	objects []snapshotObject
}

// snapshotObject is an object as it was last observed, and how to compare it.
type snapshotObject struct {
	facts
	key inventory.Key
	*comparison
	// everyChange is set if no change can be ignored, for example because
	// expressions read the object.
	everyChange bool
	// unusable is set if an engine can't resume from it.
	unusable bool
}

// comparison tells which changes of an object matter.
type comparison struct {
	manager string
	ignore  []fields.Path
	// checker is nil if everyChange is set because it has expressions.
	checker  *readiness.Checker
	external bool
}

// usualComparison is that of most nodes.
var usualComparison = &comparison{manager: FieldManager, checker: readiness.Default}

// Snapshot returns the state to keep of a Completed engine.
func (e *Engine) Snapshot() *Snapshot {
	s := &Snapshot{owner: e.owner, revision: e.revision, objects: make([]snapshotObject, 0, len(e.nodes.all))}
	for _, n := range e.nodes.all {
		seen := e.cache.objects[n.key]
		if seen == nil {
			continue
		}
		s.objects = append(s.objects, snapshotObject{
			facts: seen.facts, key: n.key, comparison: n.comparison(), unusable: seen.err != nil,
			everyChange: n.referenced || n.checker.HasExpressions() || seen.err != nil,
		})
	}
	slices.SortFunc(s.objects, func(a, b snapshotObject) int { return a.key.Compare(b.key) })
	return s
}

// comparison returns which changes of the object of a node matter.
func (n *node) comparison() *comparison {
	c := &comparison{manager: n.policy.manager, ignore: n.policy.ignore, checker: n.checker, external: n.policy.external}
	if n.checker.HasExpressions() {
		c.checker = nil
	}
	if c.manager == usualComparison.manager && c.ignore == nil && c.checker == usualComparison.checker && !c.external {
		return usualComparison
	}
	return c
}

// find returns the object of a key, nil if there is none. The result is valid until an
// object is forgotten.
func (s *Snapshot) find(key inventory.Key) *snapshotObject {
	i, found := s.index(key)
	if !found {
		return nil
	}
	return &s.objects[i]
}

func (s *Snapshot) index(key inventory.Key) (int, bool) {
	return slices.BinarySearchFunc(s.objects, key, func(o snapshotObject, key inventory.Key) int { return o.key.Compare(key) })
}

// forget removes an object that changed.
func (s *Snapshot) forget(key inventory.Key) {
	if i, found := s.index(key); found {
		s.objects = slices.Delete(s.objects, i, i+1)
	}
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
	for _, o := range s.objects {
		if n := e.nodes.byKey[o.key]; n != nil && !n.referenced && !o.unusable {
			e.put(o.key, &observation{facts: o.facts})
		}
	}
	return true
}

// Observe reports whether an object changed in a way that needs a run. If so, the
// snapshot forgets the object: the engine that resumes has to observe or read it.
func (s *Snapshot) Observe(obj *unstructured.Unstructured) bool {
	key := s.keyOf(obj)
	o := s.find(key)
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
	s.forget(key)
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
	o := s.find(key)
	if o == nil || o.absent || o.uid != obj.GetUID() || resourceversion.Older(obj.GetResourceVersion(), o.version) {
		return false
	}
	s.forget(key)
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
	before := len(s.objects)
	s.objects = slices.DeleteFunc(s.objects, func(o snapshotObject) bool {
		here := locationOf(o.key) == here && (name == "" || o.key.Name == name)
		return here && !o.absent && !listed[o.key] && (o.mine || name != "") && !resourceversion.Older(version, o.version)
	})
	return changed || len(s.objects) < before
}

// keyOf is [Engine.keyOfObject] for the objects of the snapshot.
func (s *Snapshot) keyOf(obj *unstructured.Unstructured) inventory.Key {
	key := KeyOf(obj)
	if key.Namespace == "" && s.find(key) == nil {
		assumed := key
		assumed.Namespace = s.owner.Namespace
		if s.find(assumed) != nil {
			return assumed
		}
	}
	return key
}
