package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// Limits of a status, because etcd and the API server limit the size of an
// object. Entries over a limit are left out, or stored in ConfigMaps in the case
// of the inventory. MaxMessage is a number of bytes; the others count entries.
// The CRD enforces the same limits by the markers on the fields.
const (
	MaxNodeStates = 500
	MaxOutputs    = 100
	MaxHistory    = 10
	MaxInventory  = 500
	MaxMessage    = 1024
)

// ResourceGraphStatus is the observed state of a ResourceGraph. All lists in it
// are bounded.
type ResourceGraphStatus struct {
	// phase summarizes the state of the graph: Pending, Executing, Completed or
	// Failed.
	Phase GraphPhase `json:"phase,omitempty"`
	// observedGeneration is the generation that the status describes. It is -1
	// until an applier has seen the graph.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// reconcileRequestedAt is the value of the annotation
	// pequod.io/reconcile-requested-at or reconcile.fluxcd.io/requestedAt that was
	// handled last.
	//
	// +kubebuilder:validation:MaxLength=256
	ReconcileRequestedAt string `json:"reconcileRequestedAt,omitempty"`
	// nodes are the numbers of nodes.
	Nodes *NodeCounts `json:"nodes,omitempty"`
	// nodeStates are the states of the nodes, by node id. At most 500 nodes are
	// listed; nodes that are not ready take precedence over ready ones.
	//
	// +kubebuilder:validation:MaxProperties=500
	NodeStates map[string]NodeState `json:"nodeStates,omitempty"`
	// outputs are the values of the graph's outputs that are already known.
	//
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MaxProperties=100
	// +kubebuilder:pruning:PreserveUnknownFields
	Outputs map[string]runtime.RawExtension `json:"outputs,omitempty"`
	// inventory lists the objects that the graph owns.
	Inventory *Inventory `json:"inventory,omitempty"`
	// history lists the last finished executions, newest first. If there are more than 10,
	// those whose reason isn't Spec are left out first.
	//
	// +kubebuilder:validation:MaxItems=10
	// +listType=atomic
	History []Revision `json:"history,omitempty"`
	// conditions are Ready, Reconciling and Stalled, with the meaning that kstatus
	// defines. Reconciling and Stalled are only present while they are true.
	//
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// GraphPhase is a summary of the state of a graph.
//
// +kubebuilder:validation:Enum=Pending;Executing;Completed;Failed
type GraphPhase string

// The phases of graphs.
const (
	// GraphPending graphs have not been executed yet.
	GraphPending GraphPhase = "Pending"
	// GraphExecuting graphs are being applied, or wait for readiness.
	GraphExecuting GraphPhase = "Executing"
	// GraphCompleted graphs have only ready nodes.
	GraphCompleted GraphPhase = "Completed"
	// GraphFailed graphs have a failed node, or could not be executed.
	GraphFailed GraphPhase = "Failed"
)

// The condition types of a graph. Reconciling and Stalled are only present while
// they are true, as kstatus expects.
const (
	ConditionReady       = "Ready"
	ConditionReconciling = "Reconciling"
	ConditionStalled     = "Stalled"
)

// NodeCounts are the numbers of nodes of a graph.
type NodeCounts struct {
	// total is the number of nodes.
	Total int `json:"total"`
	// ready is the number of nodes that are ready.
	Ready int `json:"ready"`
	// failed is the number of nodes that failed or are degraded.
	Failed int `json:"failed"`
	// summary is the number of nodes that are ready and that of all nodes, such as 2/3.
	//
	// +kubebuilder:validation:MaxLength=32
	Summary string `json:"summary,omitempty"`
}

// NodeState is the observed state of one node.
type NodeState struct {
	// phase is the state of the node: Pending, Blocked, Waiting, Applying,
	// Progressing, Degraded, Ready, Failed, Deleting or Gone.
	Phase NodePhase `json:"phase,omitempty"`
	// message explains the phase. For a blocked node it names the node that
	// blocks it.
	//
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
	// appliedAt is the time at which the object was last written.
	AppliedAt *MilliTime `json:"appliedAt,omitempty"`
	// readyAt is the time at which the object became ready.
	ReadyAt *MilliTime `json:"readyAt,omitempty"`
	// adopted is true if the object existed before the graph took it over.
	Adopted bool `json:"adopted,omitempty"`
}

// Inventory lists the objects that a graph owns. An inventory of more than 500
// objects is stored in ConfigMaps, and the status only has their number.
type Inventory struct {
	// revision is the render hash of the graph that was recorded last, before its
	// objects were written.
	//
	// +kubebuilder:validation:MaxLength=128
	Revision string `json:"revision,omitempty"`
	// complete is true if the execution of revision has ended with all nodes ready,
	// and all other objects pruned or waiting for the end of their grace period.
	Complete bool `json:"complete,omitempty"`
	// count is the number of objects in the inventory.
	Count int `json:"count"`
	// configMap is the name of the ConfigMap with the entries, if they are not in
	// the status.
	//
	// +kubebuilder:validation:MaxLength=253
	ConfigMap string `json:"configMap,omitempty"`
	// unsearched are the API groups in which objects that left the graph are still to
	// be searched: the inventory was lost, and these groups weren't available.
	//
	// +kubebuilder:validation:MaxItems=500
	// +listType=atomic
	Unsearched []string `json:"unsearched,omitempty"`
	// entries are the objects of the inventory.
	//
	// +kubebuilder:validation:MaxItems=500
	// +listType=atomic
	Entries []InventoryEntry `json:"entries,omitempty"`
}

// InventoryEntry is one object of an inventory.
type InventoryEntry struct {
	// group is the API group of the object; empty means the core group.
	//
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group,omitempty"`
	// version is the API version with which the object was applied.
	//
	// +kubebuilder:validation:MaxLength=63
	Version string `json:"version"`
	// kind is the kind of the object.
	//
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// namespace is the namespace of the object; empty means cluster-scoped.
	//
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
	// name is the name of the object.
	//
	// +kubebuilder:validation:MaxLength=512
	Name string `json:"name"`
	// node is the id of the node that the object belongs to.
	//
	// +kubebuilder:validation:MaxLength=63
	Node string `json:"node,omitempty"`
	// leavingSince is the time at which the object left the graph. The applier
	// prunes it after a grace period, unless another graph lists it by then.
	LeavingSince *metav1.Time `json:"leavingSince,omitempty"`
	// wave is the position of the object in apply order, from 0. Objects are
	// pruned in the opposite order.
	//
	// +kubebuilder:validation:Minimum=0
	Wave int `json:"wave,omitempty"`
	// orphan is true if the object stays in the cluster when it leaves the graph.
	Orphan bool `json:"orphan,omitempty"`
	// create is true if the object is created once and never updated.
	Create bool `json:"create,omitempty"`
	// done is true if the object did its work.
	Done bool `json:"done,omitempty"`
	// manager is the field manager that applied the object, if it isn't pequod.
	//
	// +kubebuilder:validation:MaxLength=128
	Manager string `json:"manager,omitempty"`
	// uid is the UID of the object. An object with another UID is never deleted.
	UID types.UID `json:"uid,omitempty"`
	// desired is a digest of the configuration that was applied.
	//
	// +kubebuilder:validation:MaxLength=64
	Desired string `json:"desired,omitempty"`
	// live is a digest of the same fields as the API server returned them.
	//
	// +kubebuilder:validation:MaxLength=64
	Live string `json:"live,omitempty"`
}

// RevisionReason is why a graph was executed.
//
// +kubebuilder:validation:Enum=Spec;Drift;Requested;Restart
type RevisionReason string

// The reasons of executions.
const (
	// RevisionSpec executions are the first ones of a spec, and their repetitions until
	// it is completed.
	RevisionSpec RevisionReason = "Spec"
	// RevisionDrift executions restore objects of a completed graph that were changed or
	// deleted by others, or that are not ready any more.
	RevisionDrift RevisionReason = "Drift"
	// RevisionRequested executions were requested by the annotation
	// pequod.io/reconcile-requested-at.
	RevisionRequested RevisionReason = "Requested"
	// RevisionRestart executions began because the applier was started: they continue an
	// execution that was interrupted, or restore objects that were changed meanwhile.
	RevisionRestart RevisionReason = "Restart"
)

// Revision is a finished execution of a graph.
type Revision struct {
	// revision is the generation of the graph that was executed.
	Revision int64 `json:"revision"`
	// attempt is the number of the entry among those of the same revision, from 1. It is
	// missing in entries of older versions.
	//
	// +kubebuilder:validation:Minimum=1
	Attempt int64 `json:"attempt,omitempty"`
	// reason is why the graph was executed: Spec, Drift, Requested or Restart. It is missing
	// in entries of older versions.
	Reason RevisionReason `json:"reason,omitempty"`
	// hash is the render hash of the graph that was executed.
	//
	// +kubebuilder:validation:MaxLength=128
	Hash string `json:"hash"`
	// result is Completed or Failed.
	Result GraphPhase `json:"result"`
	// startedAt is the time at which the execution began. It is missing in entries of
	// older versions.
	StartedAt *MilliTime `json:"startedAt,omitempty"`
	// finishedAt is the time at which the execution ended.
	FinishedAt metav1.Time `json:"finishedAt"`
	// nodes is the number of nodes of the graph.
	Nodes int `json:"nodes"`
	// created is the number of objects that were created, or deleted and created
	// again because of an immutable field.
	//
	// +optional
	Created int `json:"created"`
	// updated is the number of objects that existed and were changed or adopted.
	//
	// +optional
	Updated int `json:"updated"`
	// deleted is the number of objects that left the graph and were deleted. Objects
	// that were released instead do not count.
	//
	// +optional
	Deleted int `json:"deleted"`
	// duration is the duration of the execution, such as 1m30s.
	//
	// +kubebuilder:validation:MaxLength=32
	Duration string `json:"duration"`
	// message is the message of the condition Ready at the end of the execution: for
	// example which node failed and why.
	//
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message"`
}
