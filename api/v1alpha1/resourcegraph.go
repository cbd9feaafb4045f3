package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ResourceGraph is the rendered form of one instance: its Kubernetes objects, the
// dependencies between them, and the checks that decide when each is ready. The
// applier creates and updates the objects in dependency order, and deletes objects
// that are no longer part of the graph.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=rg,categories=pequod
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Nodes",type=string,JSONPath=`.status.nodes.summary`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63",message="the name must have at most 63 characters, because it is a label of the objects"
type ResourceGraph struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state: the objects, and how to apply them.
	Spec ResourceGraphSpec `json:"spec"`
	// status is the observed state, written by the applier. observedGeneration is
	// -1 until an applier has seen the graph, because kstatus considers objects
	// without a status to be current.
	//
	// +kubebuilder:default:={"observedGeneration":-1}
	Status ResourceGraphStatus `json:"status,omitzero"`
}

// ResourceGraphSpec is the desired state of a ResourceGraph. It contains no
// timestamps and no data about the machine that rendered it, so rendering the same
// input twice yields the same bytes.
//
// +kubebuilder:validation:XValidation:rule="has(self.kubeConfig) == has(oldSelf.kubeConfig)",fieldPath=".kubeConfig",message="can't be added or removed: the objects would stay in the other cluster; delete the graph and create it again"
type ResourceGraphSpec struct {
	// sourceRef is the instance that the graph was rendered from.
	//
	// +optional
	SourceRef ObjectRef `json:"sourceRef,omitzero"`
	// platformRef is the module that rendered the graph.
	//
	// +optional
	PlatformRef PlatformRef `json:"platformRef,omitzero"`
	// renderHash identifies the content of graph: "sha256:" and the hex digest of
	// its JSON. Other fields of the spec do not affect it, so a new version of the
	// module that renders the same graph causes no new execution.
	//
	// +kubebuilder:validation:MaxLength=128
	RenderHash string `json:"renderHash,omitempty"`

	// serviceAccountName is the service account, in the namespace of the graph, that
	// the applier impersonates. Defaults to pequod.
	//
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$`
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
	// kubeConfig names another cluster than that of the graph, in which the objects are. The
	// field can't be added, changed or removed later, because the objects would stay
	// behind. pequod-applier executes such graphs, and no other program does.
	//
	// +optional
	KubeConfig *KubeConfigReference `json:"kubeConfig,omitempty"`
	// deletionPolicy is the default for objects that leave the graph and for the
	// objects of a deleted graph: Delete or Orphan. Nodes can override it. With the
	// default, Delete, PersistentVolumeClaims, Namespaces and
	// CustomResourceDefinitions are still orphaned unless their node sets Delete.
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
	// driftPolicy is the reaction to changes that others make to the objects:
	// Correct, the default, or Report.
	DriftPolicy DriftPolicy `json:"driftPolicy,omitempty"`
	// suspend stops the applier from changing the objects. If the graph is deleted
	// while it is suspended, its objects stay in the cluster.
	Suspend bool `json:"suspend,omitempty"`
	// adopt selects existing objects that the graph may take over.
	Adopt *Adopt `json:"adopt,omitempty"`

	// graph is the content of the ResourceGraph. It is atomic for server-side
	// apply: the field manager that applies it owns all of it.
	//
	// +structType=atomic
	Graph Graph `json:"graph"`
}

// KubeConfigReference names the kubeconfig of another cluster. The fields are those of
// Flux.
//
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="can't be changed: the objects would stay in the other cluster; delete the graph and create it again"
type KubeConfigReference struct {
	// secretRef is the Secret with the kubeconfig. The service account of the graph must
	// be allowed to get it.
	SecretRef SecretKeyReference `json:"secretRef"`
}

// SecretKeyReference names a value of a Secret in the namespace of the graph.
type SecretKeyReference struct {
	// name is the name of the Secret.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	Name string `json:"name"`
	// key is the key of the value. Defaults to value or, if the Secret doesn't have it,
	// value.yaml.
	//
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[-._a-zA-Z0-9]*$`
	Key string `json:"key,omitempty"`
}

// PlatformRef identifies the module that a graph was rendered from.
type PlatformRef struct {
	// module is the module's path, or its package name if it has no path.
	Module string `json:"module"`
	// version is the version of the module, if its source has versions.
	Version string `json:"version,omitempty"`
	// digest is the digest of the module's files, as sha256:HEX.
	Digest string `json:"digest,omitempty"`
}

// ObjectRef refers to one Kubernetes object.
type ObjectRef struct {
	// apiVersion is the group and version of the object, such as apps/v1.
	APIVersion string `json:"apiVersion"`
	// kind is the kind of the object.
	Kind string `json:"kind"`
	// name is the name of the object.
	Name string `json:"name"`
	// namespace is the namespace of the object. It is empty for cluster-scoped
	// objects, and may be empty for objects in the namespace of the graph.
	Namespace string `json:"namespace,omitempty"`
}

// Graph is the content of a ResourceGraph.
type Graph struct {
	// nodes are the objects of the graph with their dependencies.
	//
	// +kubebuilder:validation:MaxItems=2500
	Nodes []Node `json:"nodes"`
	// outputs are named values that are published in the status. A value is either
	// literal or a late reference {"$from": "CEL"} that reads live objects.
	//
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Outputs map[string]runtime.RawExtension `json:"outputs,omitempty"`
	// violations are the findings of policies during rendering.
	Violations []Violation `json:"violations,omitempty"`
}

// Node is one object of a graph. Exactly one of resource and externalRef is set.
type Node struct {
	// id identifies the node in dependencies and late references. It is unique in
	// the graph.
	//
	// +kubebuilder:validation:MaxLength=63
	ID string `json:"id"`
	// resource is the object to apply. Any value except apiVersion, kind,
	// metadata.name and metadata.namespace may be a late reference
	// {"$from": "CEL"}, which is evaluated over the live objects of other nodes.
	//
	// +kubebuilder:pruning:PreserveUnknownFields
	Resource *runtime.RawExtension `json:"resource,omitempty"`
	// externalRef is an object that the applier waits for and reads, but never
	// writes.
	ExternalRef *ObjectRef `json:"externalRef,omitempty"`
	// dependencies are the ids of nodes that must be ready before this node is
	// applied. Nodes that late references read are dependencies in addition.
	Dependencies []string `json:"dependencies,omitempty"`
	// readyWhen are the readiness checks of the object. All of them must pass.
	// Without checks, the object is ready when kstatus considers it current.
	ReadyWhen []ReadyCheck `json:"readyWhen,omitempty"`
	// applyPolicy overrides how the object is applied and deleted.
	ApplyPolicy *ApplyPolicy `json:"applyPolicy,omitempty"`
}

// ReadyCheck is one check of a live object.
type ReadyCheck struct {
	// type is the kind of check.
	Type ReadyType `json:"type"`
	// conditionType is the type of the status condition that a ConditionMatch
	// check compares.
	ConditionType string `json:"conditionType,omitempty"`
	// conditionStatus is the status that a ConditionMatch check requires. Defaults
	// to "True".
	ConditionStatus string `json:"conditionStatus,omitempty"`
	// expr is the CEL expression of an Expression check. Its only variable is
	// object, the live object, and it must yield a boolean.
	//
	// +kubebuilder:validation:MaxLength=4096
	Expr string `json:"expr,omitempty"`
}

// ReadyType is a kind of readiness check.
//
// +kubebuilder:validation:Enum=Exists;DeploymentAvailable;ConditionMatch;ServiceLoadBalancerReady;JobComplete;Expression
type ReadyType string

// The readiness checks. Package applier/readiness implements them.
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

// ApplyPolicy configures how one object is applied and deleted.
type ApplyPolicy struct {
	// mode is Apply, the default, Create or Adopt. Apply keeps the object as
	// rendered, Create creates it once and never updates it, and Adopt takes over
	// an object that already exists.
	Mode ApplyMode `json:"mode,omitempty"`
	// conflictPolicy is the reaction to fields that other field managers own:
	// Error, the default, fails the node, and Force takes the fields over.
	ConflictPolicy ConflictPolicy `json:"conflictPolicy,omitempty"`
	// fieldManager is the field manager of server-side apply. Defaults to pequod.
	FieldManager string `json:"fieldManager,omitempty"`
	// ignoreFields are paths, such as spec.replicas, that are set when the object
	// is created and left to other field managers afterwards.
	IgnoreFields []string `json:"ignoreFields,omitempty"`
	// recreate allows deleting and recreating the object if an immutable field
	// changes: Never, the default, or OnImmutable.
	Recreate RecreatePolicy `json:"recreate,omitempty"`
	// deletionPolicy is Delete or Orphan. Defaults to Orphan for objects of mode
	// Create, for PersistentVolumeClaims, for Namespaces and for
	// CustomResourceDefinitions, and to the policy of the graph for all others.
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
	// timeout limits the time in which the object must become ready, as a Go
	// duration such as 90s. Without a timeout the applier keeps waiting.
	Timeout string `json:"timeout,omitempty"`
}

// Normalize returns the policy without fields that are set to their defaults, or
// nil if no field remains. Graphs that differ only in explicit defaults render to
// the same bytes.
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

// ApplyMode is the way in which an object is written.
//
// +kubebuilder:validation:Enum=Apply;Create;Adopt
type ApplyMode string

// The apply modes.
const (
	// ApplyModeApply keeps the object as rendered, by server-side apply.
	ApplyModeApply ApplyMode = "Apply"
	// ApplyModeCreate creates the object once and never updates it.
	ApplyModeCreate ApplyMode = "Create"
	// ApplyModeAdopt is ApplyModeApply, and takes over an object that already exists.
	ApplyModeAdopt ApplyMode = "Adopt"
)

// ConflictPolicy is the reaction to a field that another field manager owns.
//
// +kubebuilder:validation:Enum=Error;Force
type ConflictPolicy string

// The conflict policies.
const (
	ConflictError ConflictPolicy = "Error"
	ConflictForce ConflictPolicy = "Force"
)

// RecreatePolicy allows or forbids deleting and recreating an object to change an
// immutable field.
//
// +kubebuilder:validation:Enum=Never;OnImmutable
type RecreatePolicy string

// The recreate policies.
const (
	RecreateNever       RecreatePolicy = "Never"
	RecreateOnImmutable RecreatePolicy = "OnImmutable"
)

// DeletionPolicy is the treatment of objects that leave their graph: they are
// deleted, or stay in the cluster without an owner.
//
// +kubebuilder:validation:Enum=Delete;Orphan
type DeletionPolicy string

// The deletion policies.
const (
	DeletionDelete DeletionPolicy = "Delete"
	DeletionOrphan DeletionPolicy = "Orphan"
)

// DriftPolicy is the reaction to changes that others make to a graph's objects.
//
// +kubebuilder:validation:Enum=Correct;Report
type DriftPolicy string

// The drift policies.
const (
	// DriftCorrect reverts the changes.
	DriftCorrect DriftPolicy = "Correct"
	// DriftReport reports the changes and leaves them. Deleted objects are still
	// recreated.
	DriftReport DriftPolicy = "Report"
)

// Adopt selects the existing objects that a graph may take over.
type Adopt struct {
	// mode is Explicit, the default, or LabelSelector.
	Mode AdoptMode `json:"mode,omitempty"`
	// strategy is TakeOwnership, the default, or Mirror. TakeOwnership applies the
	// objects like all others; Mirror only waits for them and reads them.
	Strategy AdoptStrategy `json:"strategy,omitempty"`
	// resources are the objects that the graph may take over in both modes.
	Resources []ObjectRef `json:"resources,omitempty"`
	// labelSelector selects objects by their labels, for mode LabelSelector.
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`
}

// Violation is a finding of a policy in an instance or in a rendered node.
type Violation struct {
	// path is a field of the instance, such as spec.replicas, or a field of the
	// node's resource if node is set.
	Path string `json:"path,omitempty"`
	// node is the id of the node that violates the policy.
	Node string `json:"node,omitempty"`
	// message describes the violation.
	Message string `json:"message"`
	// severity is Error, Warning or Info. Only an Error stops the graph.
	Severity Severity `json:"severity,omitempty"`
}

// Severity ranks violations. Only Error stops a graph.
//
// +kubebuilder:validation:Enum=Error;Warning;Info
type Severity string

// The severities.
const (
	SeverityError   Severity = "Error"
	SeverityWarning Severity = "Warning"
	SeverityInfo    Severity = "Info"
)

// NodePhase is the state of a node.
type NodePhase string

// The phases of nodes.
const (
	// NodePending nodes have not been visited yet, or wait for a free worker.
	NodePending NodePhase = "Pending"
	// NodeBlocked nodes wait for a dependency to become ready.
	NodeBlocked NodePhase = "Blocked"
	// NodeWaiting nodes wait for the cluster before they can be applied: for a field
	// that a late reference reads, or for an object to be created or deleted.
	NodeWaiting NodePhase = "Waiting"
	// NodeApplying nodes are being written.
	NodeApplying NodePhase = "Applying"
	// NodeProgressing nodes are applied but not ready yet.
	NodeProgressing NodePhase = "Progressing"
	// NodeDegraded nodes are applied, and their Pods fail again and again: they crash, or
	// their image can't be pulled. They become ready if that ends.
	NodeDegraded NodePhase = "Degraded"
	NodeReady    NodePhase = "Ready"
	NodeFailed   NodePhase = "Failed"
	// NodeDeleting and NodeGone are the phases of objects that left the graph.
	NodeDeleting NodePhase = "Deleting"
	NodeGone     NodePhase = "Gone"
)

// AdoptMode is the way in which existing objects are selected for adoption.
//
// +kubebuilder:validation:Enum=Explicit;LabelSelector
type AdoptMode string

// The adoption modes.
const (
	// AdoptExplicit selects the objects in adopt.resources.
	AdoptExplicit AdoptMode = "Explicit"
	// AdoptLabelSelector selects the objects that match adopt.labelSelector.
	AdoptLabelSelector AdoptMode = "LabelSelector"
)

// AdoptStrategy is the treatment of objects that are selected for adoption.
//
// +kubebuilder:validation:Enum=TakeOwnership;Mirror
type AdoptStrategy string

// The adoption strategies.
const (
	// AdoptTakeOwnership makes the graph the owner of the objects.
	AdoptTakeOwnership AdoptStrategy = "TakeOwnership"
	// AdoptMirror waits for the objects and reads them, but does not write them.
	AdoptMirror AdoptStrategy = "Mirror"
)
