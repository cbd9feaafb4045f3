package engine

import (
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	k8slabels "k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/fields"
	"github.com/pequod-io/pequod/applier/readiness"
	"github.com/pequod-io/pequod/inventory"
)

// observed is a compact record of one object as it was last seen.
type observed struct {
	absent  bool
	uid     types.UID
	version string // resourceVersion
	// owner is the graph that the object's labels name, mine whether it is this
	// one; evident says that an applier put them there, not somebody's copy of
	// the object.
	owner    inventory.Owner
	owned    bool
	mine     bool
	evident  bool
	live     string // digest of the fields that the node's manager holds
	replicas bool   // the manager holds spec.replicas
	matches  bool   // the graph's adoption selector
	deleting bool
	holders  []string // finalizers
	verdict  readiness.Verdict
	object   map[string]any // only where expressions read it, or a cause is looked for
	err      error          // why the record is no good
	at       time.Time      // of the step after which it was seen
}

// Observe tells the engine that an object was seen, by a watch for instance.
// Objects that are none of the graph's, and what is older than what is known
// already, are passed over.
func (e *Engine) Observe(obj *unstructured.Unstructured) {
	key := e.keyOfObject(obj)
	if !e.knows(key) {
		return
	}
	version := obj.GetResourceVersion()
	switch old := e.world[key]; {
	case e.opts.Mode == ModePlan: // what a dry run answers with has no version of its own
	case old == nil && older(version, e.listed[placeOf(key)]):
		return // a newer listing was without it: whatever became of it is to be read
	case old != nil && (older(version, old.version) || old.absent && version == old.version):
		return
	}
	e.learn(key, e.look(key, obj))
}

// ObserveGone tells the engine that an object was seen to go. It is passed over
// if the object that is known is another one of that name. A watch by labels
// says the same of an object that lost its labels, so a node's object that
// wasn't about to go is looked for.
func (e *Engine) ObserveGone(obj *unstructured.Unstructured) {
	key := e.keyOfObject(obj)
	old := e.world[key]
	switch {
	case old == nil || older(obj.GetResourceVersion(), old.version) || !old.absent && old.uid != obj.GetUID():
	case !old.absent && !old.deleting && e.byKey[key] != nil:
		e.Forget(key)
	default:
		e.learn(key, e.nothing(obj.GetResourceVersion()))
	}
}

// ObserveAll tells the engine which objects there are at a version of the
// cluster: those of a kind and namespace that carry the graph's labels, or the
// one of a name. Others that were seen before have gone, or lost their labels:
// the engine will ask for them.
func (e *Engine) ObserveAll(gk schema.GroupKind, namespace, name, version string, objects []unstructured.Unstructured) {
	here := place{gk, namespace}
	listed := make(map[inventory.Key]bool, len(objects))
	for i := range objects {
		listed[e.keyOfObject(&objects[i])] = true
		e.Observe(&objects[i])
	}
	for key, seen := range e.world {
		if placeOf(key) != here || name != "" && key.Name != name || seen.absent || listed[key] {
			continue
		}
		if (seen.mine || name != "") && !older(version, seen.version) {
			e.Forget(key)
		}
	}
	if name == "" {
		e.listed[here] = version
	}
}

// place is where objects of a kind are listed.
type place struct {
	schema.GroupKind
	namespace string
}

func placeOf(key inventory.Key) place {
	return place{schema.GroupKind{Group: key.Group, Kind: key.Kind}, key.Namespace}
}

// nothing is the record of an object that isn't there. The version is that of
// the last news of it: older ones that come late are about one that is gone.
func (e *Engine) nothing(version string) *observed {
	return &observed{absent: true, version: version, at: e.now}
}

// seeGone takes in the answer that there is no such object. Whatever came of
// another object of the name since the question is newer, or may be: then it is
// asked again.
func (e *Engine) seeGone(key inventory.Key, was *observed) {
	now := e.world[key]
	switch {
	case now == nil || now == was || now.absent:
	case was == nil || now.uid != was.uid:
		e.Forget(key)
		return
	}
	version := ""
	if now != nil {
		version = now.version
	}
	e.learn(key, e.nothing(version))
}

// Forget tells the engine that nothing is known of an object any more; it will
// ask for it.
func (e *Engine) Forget(key inventory.Key) { e.learn(key, nil) }

// learn notes what is known of an object now, nil for nothing.
func (e *Engine) learn(key inventory.Key, o *observed) {
	if o == nil {
		delete(e.world, key)
	} else {
		e.world[key] = o
	}
	n := e.byKey[key]
	if n == nil {
		return
	}
	n.stale = true
	if n.read {
		n.touchDependents()
	}
}

func (e *Engine) knows(key inventory.Key) bool {
	if _, ok := e.byKey[key]; ok {
		return true
	}
	_, ok := e.entries[key]
	return ok
}

// keyOfObject is the key by which the engine knows an object. One of a kind of
// which nobody knew that it has no namespaces was given that of the graph.
func (e *Engine) keyOfObject(obj *unstructured.Unstructured) inventory.Key {
	key := KeyOf(obj)
	if key.Namespace == "" && !e.knows(key) {
		guessed := key
		guessed.Namespace = e.owner.Namespace
		if e.knows(guessed) {
			return guessed
		}
	}
	return key
}

// KeyOf is the key of an object as it is in the cluster.
func KeyOf(obj *unstructured.Unstructured) inventory.Key {
	gvk := obj.GroupVersionKind()
	return inventory.Key{Group: gvk.Group, Kind: gvk.Kind, Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// older compares resource versions, which are numbers that grow in every
// Kubernetes to date. Of any that aren't, the newest to arrive counts.
func older(a, b string) bool {
	x, errX := strconv.ParseUint(a, 10, 64)
	y, errY := strconv.ParseUint(b, 10, 64)
	return errX == nil && errY == nil && x < y
}

// look makes the record of an object.
func (e *Engine) look(key inventory.Key, obj *unstructured.Unstructured) *observed {
	o := &observed{
		uid: obj.GetUID(), version: obj.GetResourceVersion(), holders: obj.GetFinalizers(),
		deleting: obj.GetDeletionTimestamp() != nil, at: e.now,
	}
	labels := obj.GetLabels()
	o.owner, o.owned = inventory.OwnerOf(labels)
	o.mine = o.owned && e.owner.Owns(labels)
	o.evident = o.owned && e.evident(obj)
	n := e.byKey[key]
	if n == nil {
		return o
	}
	o.verdict = n.gate.Evaluate(obj)
	if n.read || o.verdict.State != readiness.Ready {
		o.object = obj.Object
	}
	if e.selector != nil {
		o.matches = e.selector.Matches(k8slabels.Set(labels))
	}
	if n.external {
		return o
	}
	o.live, o.err = fields.OwnedDigest(obj, n.manager, n.ignore)
	for _, entry := range fields.Entries(obj) {
		if entry.AppliedBy(n.manager) && entry.Owns(replicas) {
			o.replicas = true
		}
	}
	return o
}

var replicas = fields.Path{"f:spec", "f:replicas"}

var graphLabel = fields.Path{"f:metadata", "f:labels", "f:" + v1alpha1.LabelGraph}

// evident says whether the label of a graph was put on an object by a manager
// of this graph: controllers copy labels (a Service's to its Endpoints), and so
// do people.
func (e *Engine) evident(obj *unstructured.Unstructured) bool {
	return labelled(obj, func(manager string) bool { return manager == FieldManager || e.managers[manager] })
}

// labelled says whether one of certain managers holds the label of a graph.
func labelled(obj *unstructured.Unstructured, by func(manager string) bool) bool {
	return slices.ContainsFunc(fields.Entries(obj), func(entry fields.Entry) bool {
		return by(entry.Manager) && entry.Owns(graphLabel)
	})
}

// ours says whether an object belongs to the graph: by its labels, and because
// it is the one of the inventory or evidently was applied by a graph.
func (e *Engine) ours(key inventory.Key, o *observed) bool {
	return o.mine && (o.evident || o.uid == e.entries[key].UID)
}

// live gives the newest known object of a node to expressions.
func (e *Engine) live(id string) map[string]any {
	n := e.byID[id]
	if n == nil {
		return nil
	}
	if e.opts.Mode == ModePlan && (n.state.op == Created || n.state.op == Recreated) {
		return nil // what the cluster adds to it isn't known
	}
	if o := e.world[n.key]; o != nil && !o.absent {
		return o.object
	}
	return nil
}

// deletionText says what an object that is being deleted waits for.
func deletionText(o *observed) string {
	var holders []string
	text := "is being deleted"
	for _, name := range o.holders {
		switch name {
		case metav1.FinalizerDeleteDependents:
			text += ", after its dependents"
		case metav1.FinalizerOrphanDependents:
		default:
			holders = append(holders, name)
		}
	}
	if len(holders) > 0 {
		text += ", held by finalizer " + strings.Join(holders, ", ")
	}
	return text
}
