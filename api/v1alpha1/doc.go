// Package v1alpha1 holds Pequod's API kinds, group platform.pequod.io, and the
// rules that every reader of them keeps: names, validation and order.
//
// [ResourceGraph] is the seam of the product: pequod renders it from CUE
// without a cluster, the applier executes it without CUE. [Transform] says
// which module becomes which generated kind.
//
// The package is data and pure functions: it reads no files and talks to no
// cluster.
//
// +kubebuilder:object:generate=true
// +groupName=platform.pequod.io
package v1alpha1

import "k8s.io/apimachinery/pkg/runtime/schema"

// Group and Version of the kinds in this package.
const (
	Group   = "platform.pequod.io"
	Version = "v1alpha1"
)

// GroupVersion is the group and version of the kinds in this package.
var GroupVersion = schema.GroupVersion{Group: Group, Version: Version}

// What a Transform's generated kind gets where the Transform and its module
// don't say otherwise.
const (
	DefaultGroup   = "pequod.io"
	DefaultVersion = "v1alpha1"
)

// Labels and annotations that Pequod writes and reads.
const (
	LabelManaged   = "pequod.io/managed"
	LabelTransform = "pequod.io/transform"
	LabelInstance  = "pequod.io/instance"
	LabelGraph     = "pequod.io/graph"
	// LabelGraphNamespace stands beside LabelGraph on a graph's objects, which
	// may lie in any namespace or in none.
	LabelGraphNamespace = "pequod.io/graph-namespace"
	// LabelInventory marks ConfigMaps that hold what a graph owns.
	LabelInventory = "pequod.io/inventory"
	LabelCueModule = "pequod.io/cue-module"
	// LabelPaused set to "true" stops reconciliation of a Transform, an
	// instance or a graph.
	LabelPaused = "pequod.io/paused"
	// AnnotationReconcileRequestedAt asks for a reconciliation whenever its
	// value changes.
	AnnotationReconcileRequestedAt = "pequod.io/reconcile-requested-at"
	// Finalizer keeps a graph in the cluster until its objects are gone.
	Finalizer = "pequod.io/applier"

	LabelManagedBy = "app.kubernetes.io/managed-by"
	// ManagedBy is the value of LabelManagedBy on what Pequod applies.
	ManagedBy = "pequod"
)
