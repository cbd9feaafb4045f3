package engine

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/applier/readiness"
	"github.com/pequod-io/pequod/inventory"
)

// observation is the newest known state of one object. It is immutable, and
// compact: the object itself is kept only where it is needed.
type observation struct {
	uid     types.UID
	version string // resourceVersion
	// live is the digest of the fields that the node's field manager owns.
	live string
	traits
	// at is the time of the step before the observation, zero if it is from a snapshot.
	at         time.Time
	finalizers []string
	// unjudged is set while verdict isn't known, because the graph evaluates its
	// expressions in slices.
	unjudged bool
	// object is set only if expressions read the object, or if it isn't ready and
	// its cause may be looked up.
	object map[string]any
	// size is the size of object in bytes.
	size int
	// err is set if the object couldn't be read or evaluated.
	err error
}

// traits is the part of an observation that many objects have in common.
type traits struct {
	// absent is set if the object doesn't exist. Then only version and at are set.
	absent bool

	// owner is the graph that the labels of the object name, if owned is set.
	owner inventory.Owner
	owned bool
	// mine is set if owner is this graph.
	mine bool
	// bucket is the value of [v1alpha1.LabelBucket].
	bucket string
	// labeledByApplier is set if an applier set the labels. Otherwise they were
	// probably copied from another object.
	labeledByApplier bool
	// dependent is set if another object owns the object, by an owner reference.
	dependent bool
	// selected is set if the graph's adoption selector matches.
	selected bool

	// kept is why the object must not be deleted, "" if it may be.
	kept string

	// ownsReplicas is set if the node's field manager owns spec.replicas.
	ownsReplicas bool
	deleting     bool
	// finished is set if the object has done its work, see [node.finished].
	finished bool
	verdict  readiness.Verdict
}

// absentObservation returns the observation of an object that doesn't exist.
// Version is the newest known resourceVersion of the object: events that are
// older arrive late and belong to the object that is gone.
func absentObservation(version string, now time.Time) *observation {
	return &observation{version: version, at: now, traits: traits{absent: true}}
}

// unreadableObservation returns the observation of an object that can't be read.
func unreadableObservation(err error, now time.Time) *observation {
	return &observation{at: now, err: err}
}

// location is where objects of one kind are listed: a namespace, or "" for
// cluster-scoped kinds.
type location struct {
	schema.GroupKind
	namespace string
}

func locationOf(key inventory.Key) location {
	return location{schema.GroupKind{Group: key.Group, Kind: key.Kind}, key.Namespace}
}

// KeyOf returns the key of a live object.
func KeyOf(obj *unstructured.Unstructured) inventory.Key {
	gvk := obj.GroupVersionKind()
	return inventory.Key{Group: gvk.Group, Kind: gvk.Kind, Namespace: obj.GetNamespace(), Name: obj.GetName()}
}
