package engine

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/fields"
	"github.com/pequod-io/pequod/internal/resourceversion"
	"github.com/pequod-io/pequod/inventory"
)

// Observations of an object come from several sources at once: answers to
// actions, and events of watches. They arrive in any order, late and repeatedly.
// The cache keeps the one with the newest resourceVersion.

// Observe reports the state of an object from a watch or a list. Objects that don't
// belong to the graph, and observations that are older than the known one, are
// ignored. With Options.ReadTrust, an object that expressions read may be read as the
// graph's account instead.
func (e *Engine) Observe(obj *unstructured.Unstructured) {
	key := e.keyOfObject(obj)
	e.confirmWatch(key, obj)
	if n := e.nodes.byKey[key]; n != nil && !e.mayLearn(n, obj) {
		e.distrust(n, obj.GetResourceVersion())
		return
	}
	e.observe(obj)
}

// observe is Observe for the answers to requests as the graph's account.
func (e *Engine) observe(obj *unstructured.Unstructured) {
	key := e.keyOfObject(obj)
	if !e.tracks(key) {
		return
	}
	version := obj.GetResourceVersion()
	switch old := e.cache.objects[key]; {
	case e.opts.Mode == ModePlan: // the result of a dry run has no version of its own
	case old == nil && resourceversion.Older(version, e.cache.listed[locationOf(key)]):
		return // a newer list was without the object, so its state has to be read
	case old == nil && e.cache.tombstones.deleted(key, obj):
		return // the same of a deletion
	case old != nil && (resourceversion.Older(version, old.version) || old.absent && version == old.version):
		return
	}
	e.put(key, e.newObservation(key, obj))
}

// ObserveGone reports a deletion event of a watch. It is ignored if another
// object of the same name is known. A watch with a label selector sends the same
// event for an object that lost its labels. So if the object of a node wasn't
// being deleted before, it is read instead.
func (e *Engine) ObserveGone(obj *unstructured.Unstructured) {
	key := e.keyOfObject(obj)
	if !e.tracks(key) {
		return
	}
	e.confirmWatch(key, obj)
	e.cache.tombstones.bury(key, tombstone{obj.GetUID(), obj.GetResourceVersion()})
	old, n := e.cache.objects[key], e.nodes.byKey[key]
	if n != nil && n.isJob() { // what came before the deletion may have been missed
		e.noteFinished(n, e.newObservation(key, obj))
	}
	switch {
	case old == nil || resourceversion.Older(obj.GetResourceVersion(), old.version) || !old.absent && old.uid != obj.GetUID():
	case n != nil && !old.absent && (!old.deleting || !e.mayLearn(n, obj)):
		e.Forget(key)
	default:
		e.put(key, absentObservation(obj.GetResourceVersion(), e.step.now))
	}
}

// ObserveAll reports a list: all objects of a kind and namespace with the graph's
// labels, or, if name is set, at most the one of that name. Version is the
// resourceVersion of the list. Known objects that aren't listed were deleted or
// lost their labels; the engine reads them. Those that left the graph and were being
// deleted are taken to be gone, as in [Engine.ObserveGone].
func (e *Engine) ObserveAll(gk schema.GroupKind, namespace, name, version string, objects []unstructured.Unstructured) {
	here := location{gk, namespace}
	listed := make(map[inventory.Key]bool, len(objects))
	for i := range objects {
		listed[e.keyOfObject(&objects[i])] = true
		e.Observe(&objects[i])
	}
	for key, seen := range e.cache.objects {
		if locationOf(key) != here || name != "" && key.Name != name || seen.absent || listed[key] {
			continue
		}
		switch {
		case !e.watchedByLabels(seen) && name == "", resourceversion.Older(version, seen.version):
		case seen.deleting && e.nodes.byKey[key] == nil:
			e.put(key, absentObservation(version, e.step.now))
		default:
			e.Forget(key)
		}
	}
	if name == "" {
		e.cache.listed[here] = version
		return
	}
	if key := (inventory.Key{Group: gk.Group, Kind: gk.Kind, Namespace: namespace, Name: name}); e.tracks(key) && !listed[key] {
		e.cache.tombstones.bury(key, tombstone{version: version})
	}
}

// observeAbsent receives the answer that an object doesn't exist. Before is the
// observation at the time of the question. If another object of the name was
// observed since, the answer may be outdated, and the object is read.
func (e *Engine) observeAbsent(key inventory.Key, before *observation) {
	now := e.cache.objects[key]
	switch {
	case now == nil || now == before || now.absent:
	case before == nil || now.uid != before.uid:
		e.Forget(key)
		return
	}
	version := ""
	if now != nil {
		version = now.version
	}
	e.put(key, absentObservation(version, e.step.now))
}

// Forget removes the observation of an object. The engine reads the object when
// it needs it.
func (e *Engine) Forget(key inventory.Key) { e.put(key, nil) }

// Doubt forgets an object that is known to exist, because news of it may have been
// missed. It reports whether there was one.
func (e *Engine) Doubt(key inventory.Key) bool {
	seen := e.cache.objects[key]
	if seen == nil || seen.absent || seen.err != nil {
		return false
	}
	e.Forget(key)
	return true
}

// put replaces the observation of an object; nil removes it. The node of the
// object is reconciled by the next step, and so are the nodes that may read it.
func (e *Engine) put(key inventory.Key, o *observation) {
	n, old := e.nodes.byKey[key], e.cache.objects[key]
	if old != nil {
		e.cache.bytes -= old.size
		if n != nil {
			e.noteFinished(n, old) // no step may have seen it
		}
	}
	if o == nil {
		delete(e.cache.objects, key)
	} else {
		e.cache.objects[key] = o
		e.cache.bytes += o.size
	}
	if n == nil {
		return
	}
	n.schedule.stale = true
	if n.referenced {
		n.markDependentsStale()
	}
}

// tracks reports whether an object is one of the graph or of its inventory.
func (e *Engine) tracks(key inventory.Key) bool {
	if _, ok := e.nodes.byKey[key]; ok {
		return true
	}
	_, ok := e.ledger.entries[key]
	return ok
}

// keyOfObject returns the key under which the engine tracks a live object. An entry
// of an earlier version may have the namespace of the graph although the object is
// cluster-scoped, see [keyResolver.rescope].
func (e *Engine) keyOfObject(obj *unstructured.Unstructured) inventory.Key {
	key := KeyOf(obj)
	if key.Namespace == "" && !e.tracks(key) {
		assumed := key
		assumed.Namespace = e.owner.Namespace
		if e.tracks(assumed) {
			return assumed
		}
	}
	return key
}

// replicas is the field that autoscalers write.
var replicas = fields.Path{"f:spec", "f:replicas"}

// newObservation extracts from an object what the engine needs to know.
func (e *Engine) newObservation(key inventory.Key, obj *unstructured.Unstructured) *observation {
	o := &observation{uid: obj.GetUID(), version: obj.GetResourceVersion(), at: e.step.now, finalizers: obj.GetFinalizers()}
	o.deleting, o.dependent = obj.GetDeletionTimestamp() != nil, len(obj.GetOwnerReferences()) > 0
	o.kept = graph.KeepReason(obj.Object)
	objectLabels := obj.GetLabels()
	o.owner, o.owned = inventory.OwnerOf(objectLabels)
	o.mine, o.bucket = o.owned && e.owner.Owns(objectLabels), objectLabels[v1alpha1.LabelBucket]
	if o.owner == e.owner {
		o.owner = e.owner // one copy of the names for all objects
	}
	o.labeledByApplier = o.owned && e.labeledByApplier(obj, e.ledger.entries[key].Manager)
	n := e.nodes.byKey[key]
	if n == nil {
		return o // of an object that left the graph, nothing else matters
	}
	e.judge(n, o, obj)
	o.finished = n.finished(o, obj)
	if e.adoption.selector != nil {
		o.selected = e.adoption.selector.Matches(labels.Set(objectLabels))
	}
	if n.policy.external {
		return o
	}
	var err error
	if o.live, err = fields.OwnedDigest(obj, n.policy.manager, n.policy.ignore); err != nil {
		o.err = err
	}
	for _, entry := range fields.Entries(obj) {
		if entry.AppliedBy(n.policy.manager) && entry.Owns(replicas) {
			o.ownsReplicas = true
		}
	}
	return o
}

// live returns the newest known object of a node, for expressions; nil if there
// is none.
func (e *Engine) live(id string) map[string]any {
	n := e.nodes.byID[id]
	if n == nil {
		return nil
	}
	if e.opts.Mode == ModePlan && (n.progress.op == Created || n.progress.op == Recreated) {
		return nil // the cluster will add values that the plan can't know
	}
	if o := e.cache.objects[n.key]; o != nil && !o.absent {
		return o.object
	}
	return nil
}
