package share

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/engine"
)

// ObservationType distinguishes the observations of a watch.
type ObservationType int

// The types of observations.
const (
	// ObjectChanged means that Object was created or changed.
	ObjectChanged ObservationType = iota
	// ObjectDeleted means that Object, in its last state, was deleted.
	ObjectDeleted
	// Listed means that Objects are all objects of the graph in Selection at Version.
	Listed
	// AccessChanged means that a watch was refused, or is allowed again. The
	// graph should subscribe again, which may find another way.
	AccessChanged
	// KindServed means that the cluster serves a kind that it didn't serve before, or that
	// was broken.
	KindServed
	// KindBroken means that the API server hasn't been able to list a kind for a while, or
	// that a distant cluster can't be reached: what is known of the objects may be outdated.
	KindBroken
	// ListRefused means that the objects of Selection, which can't be watched, can't be listed as
	// the graph's account either, and ListFailed that the API server failed to list them.
	ListRefused
	ListFailed
	// RightsChanged means that roles or bindings changed, so that the account may do more.
	RightsChanged
	// Claimed means that another graph lists an object that leaves this graph.
	Claimed
	// HistoryRewritten means that a list is older than what was seen before it: what
	// is known about the objects is void.
	HistoryRewritten
)

// Observation is something that a graph learns from a watch or from a poll.
type Observation struct {
	Type ObservationType
	// Object is the object that was changed or deleted.
	Object *unstructured.Unstructured
	// Selection, Version and Objects describe a listing.
	Selection Selection
	Version   string
	Objects   []unstructured.Unstructured
}

// Selection is a set of objects that one watch or list covers: the objects of
// all graphs of one kind, or all objects of a kind and namespace, seen with the
// applier's own rights; or one object by name, or all objects of a kind and namespace, seen
// with those of a graph's account.
type Selection struct {
	GVK       schema.GroupVersionKind
	Namespace string // empty means all namespaces, or a cluster-scoped object
	Name      string // empty means all objects of graphs
	User      string // empty means the applier itself
	All       bool   // all objects, not only those of graphs
}

// Managed is the label selector of the objects of all graphs.
const Managed = v1alpha1.LabelManaged + "=true"

// Request returns the selection as the cluster client takes it, with a label
// selector for selections without a name.
func (s Selection) Request(labels string) cluster.Selection {
	request := cluster.Selection{GVK: s.GVK, Namespace: s.Namespace, Name: s.Name}
	if s.Name == "" && !s.All {
		request.Labels = labels
	}
	return request
}

// KindOf returns the kind of a target.
func KindOf(t engine.Target) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: t.Group, Version: t.Version, Kind: t.Kind}
}
