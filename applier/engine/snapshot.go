package engine

import (
	"slices"
	"unique"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/applier/fields"
	"github.com/pequod-io/pequod/applier/readiness"
	"github.com/pequod-io/pequod/internal/resourceversion"
	"github.com/pequod-io/pequod/inventory"
)

// Snapshot is the memory of an engine that is [Completed]: some 90 bytes per
// object and the strings that identify it, instead of the engine. It recognizes
// events that matter, and a new engine of the same revision can [Engine.Resume]
// from it without a Survey. It is not safe for concurrent use.
type Snapshot struct {
	owner    inventory.Owner
	revision string
	// objects has no entry for an object that changed. It is sorted by place and name.
	objects []snapshotObject
}

// snapshotObject is an object as it was last observed, and how to compare it. There
// may be very many, so what most of them have in common is stored once.
type snapshotObject struct {
	place   unique.Handle[location]
	name    string
	uid     types.UID
	version string
	live    string
	// traits has no owner if the labels name the graph of the snapshot.
	traits unique.Handle[traits]
	*comparison
}

// comparison tells which changes of an object matter.
type comparison struct {
	manager string
	ignore  []fields.Path
	// checker is nil if everyChange is set because it has expressions.
	checker  *readiness.Checker
	external bool
	// everyChange is set if no change can be ignored, for example because
	// expressions read the object.
	everyChange bool
	// unusable is set if an engine can't resume from the object.
	unusable bool
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
		common := seen.traits
		if common.owner == e.owner {
			common.owner = inventory.Owner{}
		}
		s.objects = append(s.objects, snapshotObject{
			place: unique.Make(locationOf(n.key)), name: n.key.Name,
			uid: seen.uid, version: seen.version, live: seen.live, traits: unique.Make(common),
			comparison: n.comparison(seen.err != nil),
		})
	}
	slices.SortFunc(s.objects, func(a, b snapshotObject) int { return a.key().Compare(b.key()) })
	s.pack()
	return s
}

// pack moves the strings of all objects into one block of memory. Otherwise, each of
// them would keep a part of the heap in which all else is garbage.
func (s *Snapshot) pack() {
	var all []byte
	for i := range s.objects {
		o := &s.objects[i]
		all = append(append(append(all, o.uid...), o.version...), o.live...)
	}
	block := string(all)
	cut := func(length int) string {
		first := block[:length]
		block = block[length:]
		return first
	}
	for i := range s.objects {
		o := &s.objects[i]
		o.uid, o.version, o.live = types.UID(cut(len(o.uid))), cut(len(o.version)), cut(len(o.live))
	}
}

// comparison returns which changes of the object of a node matter. Unusable is set if
// the object couldn't be read or evaluated.
func (n *node) comparison(unusable bool) *comparison {
	c := &comparison{
		manager: n.policy.manager, ignore: n.policy.ignore, checker: n.checker, external: n.policy.external,
		everyChange: n.referenced || n.checker.HasExpressions() || unusable || n.isJob() && !n.policy.external, unusable: unusable,
	}
	if n.checker.HasExpressions() {
		c.checker = nil
	}
	if c.manager == usualComparison.manager && c.ignore == nil && c.checker == usualComparison.checker && !c.external && !c.everyChange {
		return usualComparison
	}
	return c
}

func (o *snapshotObject) key() inventory.Key {
	place := o.place.Value()
	return inventory.Key{Group: place.Group, Kind: place.Kind, Namespace: place.namespace, Name: o.name}
}

// traitsOf returns the traits of one of the objects.
func (s *Snapshot) traitsOf(o *snapshotObject) traits {
	t := o.traits.Value()
	if t.owned && t.owner == (inventory.Owner{}) {
		t.owner = s.owner
	}
	return t
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
	return slices.BinarySearchFunc(s.objects, key, func(o snapshotObject, key inventory.Key) int { return o.key().Compare(key) })
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
	for i := range s.objects {
		o := &s.objects[i]
		if n := e.nodes.byKey[o.key()]; n != nil && !n.referenced && !o.unusable {
			e.put(n.key, &observation{uid: o.uid, version: o.version, live: o.live, traits: s.traitsOf(o)})
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
	if s.unchanged(o, obj) {
		o.version = obj.GetResourceVersion()
		return false
	}
	s.forget(key)
	return true
}

// unchanged reports whether nothing changed that matters to the graph: identity,
// deletion, readiness, ownership, and the fields that the graph manages.
func (s *Snapshot) unchanged(o *snapshotObject, obj *unstructured.Unstructured) bool {
	known := s.traitsOf(o)
	if o.everyChange || known.absent || obj.GetUID() != o.uid || (obj.GetDeletionTimestamp() != nil) != known.deleting {
		return false
	}
	if o.checker.Evaluate(obj).State != known.verdict.State {
		return false
	}
	if o.external {
		return true
	}
	owner, owned := inventory.OwnerOf(obj.GetLabels())
	if owned != known.owned || owner != known.owner {
		return false
	}
	live, err := fields.OwnedDigest(obj, o.manager, o.ignore)
	return err == nil && live == o.live
}

// ObserveGone is Observe for a deletion event.
func (s *Snapshot) ObserveGone(obj *unstructured.Unstructured) bool {
	key := s.keyOf(obj)
	o := s.find(key)
	if o == nil || o.traits.Value().absent || o.uid != obj.GetUID() || resourceversion.Older(obj.GetResourceVersion(), o.version) {
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
		here, known := o.place.Value() == here && (name == "" || o.name == name), o.traits.Value()
		return here && !known.absent && !listed[o.key()] && (known.mine || name != "") && !resourceversion.Older(version, o.version)
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
