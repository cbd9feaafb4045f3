package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ResourceGraph is one instance rendered: the Kubernetes objects it needs, the
// order among them, and when each of them counts as ready.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=rg,categories=pequod
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ResourceGraph struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ResourceGraphSpec `json:"spec"`
	// Status is what the applier found and did. A graph that it hasn't seen has
	// observedGeneration -1: kstatus would take one without a status for current.
	//
	// +kubebuilder:default:={"observedGeneration":-1}
	Status ResourceGraphStatus `json:"status,omitzero"`
}

// ResourceGraphSpec says what is to exist and how it is looked after. It holds
// no timestamp and nothing of the machine that rendered it: the same input
// gives the same bytes.
type ResourceGraphSpec struct {
	// SourceRef is the instance that was rendered.
	SourceRef ObjectRef `json:"sourceRef"`
	// PlatformRef is the module that rendered it.
	PlatformRef PlatformRef `json:"platformRef"`
	// RenderHash is "sha256:" and the hex digest of the canonical JSON of
	// Graph alone, so that a new module that renders the same changes nothing
	// in the cluster.
	//
	// +kubebuilder:validation:MaxLength=128
	RenderHash string `json:"renderHash"`

	// ServiceAccountName is the account of the graph's namespace that the
	// applier impersonates.
	//
	// +kubebuilder:validation:MaxLength=253
	ServiceAccountName string         `json:"serviceAccountName,omitempty"`
	DeletionPolicy     DeletionPolicy `json:"deletionPolicy,omitempty"`
	DriftPolicy        DriftPolicy    `json:"driftPolicy,omitempty"`
	// Suspend stops the applier from touching the graph's objects. A graph that
	// is deleted while it is suspended leaves them where they are.
	Suspend bool   `json:"suspend,omitempty"`
	Adopt   *Adopt `json:"adopt,omitempty"`

	// Graph is one value to field managers: whoever applies it owns all of it.
	//
	// +structType=atomic
	Graph Graph `json:"graph"`
}

// PlatformRef identifies the module a graph was rendered from.
type PlatformRef struct {
	Module  string `json:"module"`
	Version string `json:"version,omitempty"`
	Digest  string `json:"digest,omitempty"`
}

// ObjectRef names one Kubernetes object.
type ObjectRef struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	// Namespace is empty for cluster-scoped objects, and for namespaced ones
	// that lie in the namespace of their graph.
	Namespace string `json:"namespace,omitempty"`
}

// Graph is what the renderer made: nodes with their dependencies, the outputs
// that are read from them once they are ready, and what policy had to say.
type Graph struct {
	Nodes []Node `json:"nodes"`
	// Outputs maps a name to a literal, or to {"$from": "CEL"}.
	//
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Outputs    map[string]runtime.RawExtension `json:"outputs,omitempty"`
	Violations []Violation                     `json:"violations,omitempty"`
}

// Node is one object of a graph. Exactly one of Resource and ExternalRef is set.
type Node struct {
	// ID is unique in the graph; dependencies and late references use it.
	ID string `json:"id"`
	// Resource is the object to apply. Anywhere but in apiVersion, kind and
	// metadata.name and namespace a value may be {"$from": "CEL"}.
	//
	// +kubebuilder:pruning:PreserveUnknownFields
	Resource *runtime.RawExtension `json:"resource,omitempty"`
	// ExternalRef is an object that is read and waited for, never written.
	ExternalRef *ObjectRef `json:"externalRef,omitempty"`
	// Dependencies are ids of nodes that must be ready before this one is
	// applied. Late references add theirs.
	Dependencies []string `json:"dependencies,omitempty"`
	// ReadyWhen holds the checks that must all pass; none means kstatus Current.
	ReadyWhen   []ReadyCheck `json:"readyWhen,omitempty"`
	ApplyPolicy *ApplyPolicy `json:"applyPolicy,omitempty"`
}

// ReadyCheck is one condition on a live object.
type ReadyCheck struct {
	Type ReadyType `json:"type"`
	// ConditionType and ConditionStatus belong to ConditionMatch; the status
	// is "True" if it is not given.
	ConditionType   string `json:"conditionType,omitempty"`
	ConditionStatus string `json:"conditionStatus,omitempty"`
	// Expr is the CEL expression over `object` of an Expression check.
	Expr string `json:"expr,omitempty"`
}

// ReadyType names a way to tell that an object is ready.
//
// +kubebuilder:validation:Enum=Exists;DeploymentAvailable;ConditionMatch;ServiceLoadBalancerReady;JobComplete;Expression
type ReadyType string

// The ways to tell that an object is ready.
const (
	ReadyExists              ReadyType = "Exists"
	ReadyDeploymentAvailable ReadyType = "DeploymentAvailable"
	ReadyConditionMatch      ReadyType = "ConditionMatch"
	ReadyLoadBalancer        ReadyType = "ServiceLoadBalancerReady"
	ReadyJobComplete         ReadyType = "JobComplete"
	ReadyExpression          ReadyType = "Expression"
)

// ReadyTypes lists every ReadyType, in the order of the documentation.
var ReadyTypes = []ReadyType{
	ReadyExists, ReadyDeploymentAvailable, ReadyConditionMatch,
	ReadyLoadBalancer, ReadyJobComplete, ReadyExpression,
}

// ApplyPolicy says how one object is written and removed. An empty Mode means
// Apply, an empty ConflictPolicy Error, an empty Recreate Never, an empty
// FieldManager "pequod", and an empty DeletionPolicy that of the graph, except
// that PersistentVolumeClaims, Namespaces and CustomResourceDefinitions are
// orphaned.
type ApplyPolicy struct {
	Mode           ApplyMode      `json:"mode,omitempty"`
	ConflictPolicy ConflictPolicy `json:"conflictPolicy,omitempty"`
	FieldManager   string         `json:"fieldManager,omitempty"`
	// IgnoreFields are paths, such as "spec.replicas", that are left to others
	// after the object was created.
	IgnoreFields   []string       `json:"ignoreFields,omitempty"`
	Recreate       RecreatePolicy `json:"recreate,omitempty"`
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
	// Timeout bounds the wait for readiness, as a Go duration such as "90s".
	Timeout string `json:"timeout,omitempty"`
}

// Normalize gives the policy without what is the default anyway, and nil where
// nothing is left, so that two ways to say the same render the same.
func (p ApplyPolicy) Normalize() *ApplyPolicy {
	if p.Mode == ApplyModeApply {
		p.Mode = ""
	}
	if p.ConflictPolicy == ConflictError {
		p.ConflictPolicy = ""
	}
	if p.Recreate == RecreateNever {
		p.Recreate = ""
	}
	if len(p.IgnoreFields) == 0 {
		p.IgnoreFields = nil
	}
	if p.Mode == "" && p.ConflictPolicy == "" && p.Recreate == "" && p.IgnoreFields == nil &&
		p.FieldManager == "" && p.DeletionPolicy == "" && p.Timeout == "" {
		return nil
	}
	return &p
}

// ApplyMode says whether an object is kept as rendered, created once, or taken over.
//
// +kubebuilder:validation:Enum=Apply;Create;Adopt
type ApplyMode string

// The apply modes.
const (
	// ApplyModeApply keeps the object as rendered by server-side apply.
	ApplyModeApply ApplyMode = "Apply"
	// ApplyModeCreate creates the object once and never overwrites it.
	ApplyModeCreate ApplyMode = "Create"
	// ApplyModeAdopt takes over an object that exists.
	ApplyModeAdopt ApplyMode = "Adopt"
)

// ConflictPolicy says what happens when another field manager owns a field.
//
// +kubebuilder:validation:Enum=Error;Force
type ConflictPolicy string

// The conflict policies.
const (
	ConflictError ConflictPolicy = "Error"
	ConflictForce ConflictPolicy = "Force"
)

// RecreatePolicy says whether an object may be deleted and made anew.
//
// +kubebuilder:validation:Enum=Never;OnImmutable
type RecreatePolicy string

// The recreate policies.
const (
	RecreateNever       RecreatePolicy = "Never"
	RecreateOnImmutable RecreatePolicy = "OnImmutable"
)

// DeletionPolicy says what becomes of objects that a graph no longer lists.
//
// +kubebuilder:validation:Enum=Delete;Orphan
type DeletionPolicy string

// The deletion policies.
const (
	DeletionDelete DeletionPolicy = "Delete"
	DeletionOrphan DeletionPolicy = "Orphan"
)

// DriftPolicy says what is done about changes made by others.
//
// +kubebuilder:validation:Enum=Correct;Report
type DriftPolicy string

// The drift policies.
const (
	DriftCorrect DriftPolicy = "Correct"
	DriftReport  DriftPolicy = "Report"
)

// Adopt says which existing objects a graph may take, and how.
type Adopt struct {
	// Mode is Explicit or LabelSelector.
	Mode AdoptMode `json:"mode,omitempty"`
	// Strategy is TakeOwnership or Mirror; empty means TakeOwnership.
	Strategy      AdoptStrategy         `json:"strategy,omitempty"`
	Resources     []ObjectRef           `json:"resources,omitempty"`
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`
}

// Violation is what a policy found in an input or in a rendered node.
type Violation struct {
	// Path is a field of the instance, such as "spec.replicas", or of the
	// node's resource where Node is set.
	Path     string   `json:"path,omitempty"`
	Node     string   `json:"node,omitempty"`
	Message  string   `json:"message"`
	Severity Severity `json:"severity,omitempty"`
}

// Severity ranks a violation: only Error stops a graph.
//
// +kubebuilder:validation:Enum=Error;Warning;Info
type Severity string

// The severities.
const (
	SeverityError   Severity = "Error"
	SeverityWarning Severity = "Warning"
	SeverityInfo    Severity = "Info"
)

// NodePhase says how far a node is.
type NodePhase string

// The phases of nodes.
const (
	// NodePending nodes weren't looked at yet, or wait for their turn.
	NodePending NodePhase = "Pending"
	// NodeBlocked nodes wait for another node.
	NodeBlocked NodePhase = "Blocked"
	// NodeWaiting nodes wait for something in the cluster before they are
	// applied: a field that a reference reads, an object that is to come or go.
	NodeWaiting NodePhase = "Waiting"
	// NodeApplying nodes are being written.
	NodeApplying NodePhase = "Applying"
	// NodeProgressing nodes are applied and not ready.
	NodeProgressing NodePhase = "Progressing"
	NodeReady       NodePhase = "Ready"
	NodeFailed      NodePhase = "Failed"
	// NodeDeleting and NodeGone are of objects that left the graph.
	NodeDeleting NodePhase = "Deleting"
	NodeGone     NodePhase = "Gone"
)

// AdoptMode says how the objects that a graph may take are chosen.
//
// +kubebuilder:validation:Enum=Explicit;LabelSelector
type AdoptMode string

// The adoption modes.
const (
	AdoptExplicit      AdoptMode = "Explicit"
	AdoptLabelSelector AdoptMode = "LabelSelector"
)

// AdoptStrategy says what becomes of objects that a graph may take.
//
// +kubebuilder:validation:Enum=TakeOwnership;Mirror
type AdoptStrategy string

// The adoption strategies.
const (
	// AdoptTakeOwnership makes them the graph's own.
	AdoptTakeOwnership AdoptStrategy = "TakeOwnership"
	// AdoptMirror waits for them and reads them, and writes nothing.
	AdoptMirror AdoptStrategy = "Mirror"
)
