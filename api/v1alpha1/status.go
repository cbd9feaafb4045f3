package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// The bounds of what stands in a status. What goes beyond is counted, not listed.
const (
	MaxNodeStates = 500
	MaxOutputs    = 100
	MaxHistory    = 10
	MaxInventory  = 500
	MaxMessage    = 1024
)

// ResourceGraphStatus is what the applier found and did. Every list in it is bounded.
type ResourceGraphStatus struct {
	Phase              GraphPhase `json:"phase,omitempty"`
	ObservedGeneration int64      `json:"observedGeneration,omitempty"`
	// ReconcileRequestedAt is the last value of the annotation of that name
	// that was acted on.
	//
	// +kubebuilder:validation:MaxLength=256
	ReconcileRequestedAt string `json:"reconcileRequestedAt,omitempty"`
	// NodeStates are by id. Of a graph with more nodes than fit, those that
	// aren't ready are listed first.
	//
	// +kubebuilder:validation:MaxProperties=500
	NodeStates map[string]NodeState `json:"nodeStates,omitempty"`
	// Outputs are those whose values are known.
	//
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MaxProperties=100
	// +kubebuilder:pruning:PreserveUnknownFields
	Outputs map[string]runtime.RawExtension `json:"outputs,omitempty"`
	// Inventory is what the graph owns.
	Inventory *Inventory `json:"inventory,omitempty"`
	// History are the last revisions that came to an end, the newest first.
	//
	// +kubebuilder:validation:MaxItems=10
	// +listType=atomic
	History []Revision `json:"history,omitempty"`
	// Conditions are Ready, Reconciling and Stalled, as kstatus reads them.
	//
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// GraphPhase says how far a graph is.
//
// +kubebuilder:validation:Enum=Pending;Executing;Completed;Failed
type GraphPhase string

// The phases of graphs.
const (
	GraphPending   GraphPhase = "Pending"
	GraphExecuting GraphPhase = "Executing"
	GraphCompleted GraphPhase = "Completed"
	GraphFailed    GraphPhase = "Failed"
)

// The conditions of a graph. Reconciling and Stalled are there only while they
// are true.
const (
	ConditionReady       = "Ready"
	ConditionReconciling = "Reconciling"
	ConditionStalled     = "Stalled"
)

// NodeState is the state of one node.
type NodeState struct {
	Phase NodePhase `json:"phase,omitempty"`
	// Message names the cause and, when the node is blocked, the node that
	// blocks it.
	//
	// +kubebuilder:validation:MaxLength=1024
	Message   string       `json:"message,omitempty"`
	AppliedAt *metav1.Time `json:"appliedAt,omitempty"`
	ReadyAt   *metav1.Time `json:"readyAt,omitempty"`
	// Adopted says that the object existed before the graph took it.
	Adopted bool `json:"adopted,omitempty"`
}

// Inventory is what a graph owns, as package inventory knows it. An inventory
// that doesn't fit is kept in ConfigMaps, and here it is only counted.
type Inventory struct {
	// Revision is the hash of the graph whose intent was recorded last.
	//
	// +kubebuilder:validation:MaxLength=128
	Revision string `json:"revision,omitempty"`
	// Complete says that its execution ended with everything ready and
	// everything else pruned.
	Complete bool `json:"complete,omitempty"`
	Count    int  `json:"count"`
	// ConfigMap is set where the entries are in the ConfigMap of that name.
	//
	// +kubebuilder:validation:MaxLength=253
	ConfigMap string `json:"configMap,omitempty"`
	// +kubebuilder:validation:MaxItems=500
	// +listType=atomic
	Entries []InventoryEntry `json:"entries,omitempty"`
}

// InventoryEntry is one object of an inventory.
type InventoryEntry struct {
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group,omitempty"`
	// +kubebuilder:validation:MaxLength=63
	Version string `json:"version"`
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
	// +kubebuilder:validation:MaxLength=512
	Name string `json:"name"`
	// +kubebuilder:validation:MaxLength=63
	Node string `json:"node,omitempty"`
	// +kubebuilder:validation:Minimum=0
	Wave   int       `json:"wave,omitempty"`
	Orphan bool      `json:"orphan,omitempty"`
	Create bool      `json:"create,omitempty"`
	UID    types.UID `json:"uid,omitempty"`
	// Desired and Live are digests of what was applied and of what came of it.
	//
	// +kubebuilder:validation:MaxLength=64
	Desired string `json:"desired,omitempty"`
	// +kubebuilder:validation:MaxLength=64
	Live string `json:"live,omitempty"`
}

// Revision is an execution that came to an end.
type Revision struct {
	// Revision counts the generations of the graph.
	Revision int64 `json:"revision"`
	// Hash is that of the graph as it was executed.
	//
	// +kubebuilder:validation:MaxLength=128
	Hash       string      `json:"hash"`
	Result     GraphPhase  `json:"result"`
	FinishedAt metav1.Time `json:"finishedAt"`
	// Nodes is how many the graph had, Applied how many objects were written,
	// Pruned how many left.
	Nodes   int `json:"nodes"`
	Applied int `json:"applied"`
	Pruned  int `json:"pruned"`
	// Duration is a Go duration.
	//
	// +kubebuilder:validation:MaxLength=32
	Duration string `json:"duration"`
}
