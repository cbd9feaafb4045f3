// Package v1alpha1 defines Pequod's API kinds in the group platform.pequod.io,
// and the names, labels and limits that all programs share.
//
// [ResourceGraph] (resourcegraph.go, status.go) is the interface between the two
// halves of Pequod: rendering produces it from CUE without a cluster, and the
// applier executes it without CUE. [Transform] (transform.go, transformstatus.go,
// rollout.go) binds a CUE module to the API kind that is generated from it. [Action] (action.go,
// actionstatus.go) runs something outside of the cluster. [Monitor] (monitor.go, monitorrule.go,
// monitorstatus.go) reads the state of an application and reacts. [Receiver] (receiver.go) takes
// messages from outside of the cluster. names.go has the names of generated kinds and of graphs.
//
// The comments on API types and fields become the descriptions in the CRDs, so
// they are written for the readers of kubectl explain.
//
// The package contains data and pure functions. It reads no files and talks to no
// cluster. Validation beyond the CRD schema is in package graph.
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

// The API group and version of a generated kind if neither its Transform nor its
// module sets them.
const (
	DefaultGroup   = "pequod.io"
	DefaultVersion = "v1alpha1"
)

// Labels and annotations that Pequod writes and reads. All of them begin with Prefix.
// Resources in graphs may only have LabelTransform, LabelInstance, LabelCueModule, on
// ClusterRoles LabelAggregate and LabelAggregateManager, and on CRDs LabelManaged; see package graph.
const (
	Prefix = "pequod.io/"
	// LabelManaged is "true" on objects that a graph owns, and on generated CRDs.
	LabelManaged = "pequod.io/managed"
	// LabelTransform is the name of the Transform that a graph or a generated CRD
	// comes from, shortened by [LabelValue].
	LabelTransform = "pequod.io/transform"
	// LabelTransformNamespace is the namespace of the Transform that a manager generated a CRD
	// for. CRDs of earlier versions lack it.
	LabelTransformNamespace = "pequod.io/transform-namespace"
	// LabelInstance is the name of the instance that a graph was rendered from,
	// shortened by [LabelValue].
	LabelInstance = "pequod.io/instance"
	// LabelGraph and LabelGraphNamespace identify the graph that owns an object.
	// Two labels are needed because the object may be in another namespace or be
	// cluster-scoped.
	LabelGraph          = "pequod.io/graph"
	LabelGraphNamespace = "pequod.io/graph-namespace"
	// LabelBucket is one of 64 parts into which appliers that divide the graphs among replicas divide
	// their objects, a number from 0 on. It is that of the UID of the graph, so that a replica
	// watches only the objects of its own graphs.
	LabelBucket = "pequod.io/bucket"
	// LabelInventory marks the ConfigMaps that store the inventory of a graph.
	LabelInventory = "pequod.io/inventory"
	// LabelCueModule marks the ConfigMaps that are modules, with the value "true". Without
	// it, a ConfigMap is not read, so that no other one becomes a module by accident.
	LabelCueModule = "pequod.io/cue-module"
	// LabelAggregate marks ClusterRoles whose rules become rights of the applier, with
	// the value "true". The ClusterRole pequod-applier-watch aggregates them.
	LabelAggregate = "pequod.io/aggregate-to-applier"
	// LabelAggregateManager marks ClusterRoles whose rules become rights of the manager, which
	// it may then grant to the accounts of Transforms, with the value "true". The ClusterRole
	// pequod-manager-grants aggregates them.
	LabelAggregateManager = "pequod.io/aggregate-to-manager"
	// LabelOperator is on graphs that pequod-manager made. With the value [OperatorExecutes] it
	// executes them itself, and pequod-applier executes all others. [OperatorRenders] is the value
	// of a manager that leaves them to pequod-applier.
	LabelOperator    = "pequod.io/managed-by-operator"
	OperatorExecutes = "true"
	OperatorRenders  = "rendered"
	// LabelPaused stops reconciliation of a Transform, an instance or a graph if
	// its value is "true".
	LabelPaused = "pequod.io/paused"
	// AnnotationReconcileRequestedAt requests a reconciliation each time its value
	// changes. The value is usually a timestamp, but it may be any string.
	AnnotationReconcileRequestedAt = "pequod.io/reconcile-requested-at"
	// AnnotationFluxRequestedAt has the same effect, so that tools that use Flux's annotation work.
	AnnotationFluxRequestedAt = "reconcile.fluxcd.io/requestedAt"
	// AnnotationApprovedPlan on an Action approves the plan with a digest, which is the value.
	AnnotationApprovedPlan = "pequod.io/approved-plan"
	// LabelRun on a Job of an Action is the key of the run.
	LabelRun = "pequod.io/run"
	// AnnotationObserveRequestedAt on an Action has pequod-actions look at the open run each time
	// its value changes. It starts no run.
	AnnotationObserveRequestedAt = "pequod.io/observe-requested-at"
	// AnnotationReceived on an object has digests of the messages for which Receivers have
	// changed it, so that none of them changes it twice.
	AnnotationReceived = "pequod.io/received"
	// AnnotationPinnedVersion holds an instance at a version of its module. The value is a
	// version or a digest.
	AnnotationPinnedVersion = "pequod.io/pinned-version"
	// AnnotationAdopt on an instance makes its graph adopt objects that exist, for all
	// nodes, if its value is "true".
	AnnotationAdopt = "pequod.io/adopt"
	// AnnotationClusters on an instance is a label selector: render --for-each renders the instance
	// for the clusters that it selects. Without the annotation, it is rendered for all.
	AnnotationClusters = "pequod.io/clusters"
	// AnnotationAdoptBy on a CRD names the Transform that may take it over, as NAMESPACE/NAME. It is
	// the consent of whoever may change the CRD.
	AnnotationAdoptBy = "pequod.io/adopt-by"
	// AnnotationResumeRollout on a Transform resumes a halted rollout each time its value
	// changes. The value is usually a timestamp, but it may be any string.
	AnnotationResumeRollout = "pequod.io/resume-rollout"
	// AnnotationClaimedBy is the namespace and name of the graph that waits for the
	// object of another graph, for example shop/web. The graph that owns the object
	// hands it over when it doesn't list the object any more.
	AnnotationClaimedBy = "pequod.io/claimed-by"
	// AnnotationAccount on a graph with LabelOperator is the service account of its
	// Transform, in the namespace of pequod-manager. Only pequod-manager may set it.
	AnnotationAccount = "pequod.io/account"
	// AnnotationCluster on a graph with spec.kubeConfig is the UID of the namespace
	// kube-system in the cluster that has the objects. pequod-applier sets it with the
	// finalizer.
	AnnotationCluster = "pequod.io/cluster"
	// AnnotationAppliedBy on a graph that pequod-manager made is the object of Flux that has
	// applied its instance, for example Kustomization/flux-system/apps.
	AnnotationAppliedBy = "pequod.io/applied-by"
	// AnnotationRendered on a graph that pequod-manager made identifies its spec and what that was
	// rendered from, so that a manager that starts needn't render it again. Only pequod-manager may
	// set it.
	AnnotationRendered = "pequod.io/rendered"
	// Finalizer keeps a deleted graph in the cluster until the applier has deleted
	// or orphaned its objects.
	Finalizer = "pequod.io/applier"
	// ActionFinalizer keeps a deleted Action in the cluster until pequod-actions has undone it.
	ActionFinalizer = "pequod.io/actions"
	// ManagerFinalizer keeps a deleted Transform in the cluster until the manager has
	// deleted or orphaned its CRD.
	ManagerFinalizer = "pequod.io/manager"

	// The programs in a cluster, which own the fields that they write, and report Events, by these names.
	ApplierProgram = "pequod-applier"
	ManagerProgram = "pequod-manager"
	ActionsProgram = "pequod-actions"

	// DefaultServiceAccount is the account of graphs that don't name one, unless the applier is
	// told otherwise.
	DefaultServiceAccount = "pequod"

	// LabelManagedBy is the recommended Kubernetes label for the managing tool,
	// with the value ManagedBy on objects that Pequod applies.
	LabelManagedBy = "app.kubernetes.io/managed-by"
	ManagedBy      = "pequod"
)
