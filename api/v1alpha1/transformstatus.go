package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// MaxChanges is the number of changes that the status lists of content that isn't used
// yet. The CRD enforces it by the marker on the field.
const MaxChanges = 20

// TransformStatus is the observed state of a Transform.
type TransformStatus struct {
	// phase is Pending, Fetching, Generating, Ready or Failed.
	Phase TransformPhase `json:"phase,omitempty"`
	// observedGeneration is the generation that the status describes. It is -1 until
	// a manager has seen the Transform.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// lastHandledReconcileAt is the value of the annotation
	// pequod.io/reconcile-requested-at or reconcile.fluxcd.io/requestedAt that was
	// handled last.
	//
	// +kubebuilder:validation:MaxLength=256
	LastHandledReconcileAt string `json:"lastHandledReconcileAt,omitempty"`
	// generatedCRD is the name of the generated CustomResourceDefinition.
	GeneratedCRD string `json:"generatedCRD,omitempty"`
	// generatedRBAC is the name of the generated role.
	GeneratedRBAC string `json:"generatedRBAC,omitempty"`
	// resolvedCueRef is the module content that is in use.
	ResolvedCueRef *ResolvedCueRef `json:"resolvedCueRef,omitempty"`
	// availableCueRef is module content that was seen at cueRef and is not in use yet.
	AvailableCueRef *AvailableCueRef `json:"availableCueRef,omitempty"`
	// instances counts the instances of the generated kind.
	Instances *InstanceCounts `json:"instances,omitempty"`
	// rollout is the state of the last rollout.
	Rollout *RolloutStatus `json:"rollout,omitempty"`
	// conditions are CueFetched, SchemaExtracted, CRDGenerated, RBACConfigured, Ready,
	// RolledOut, Reconciling and Stalled. Reconciling and Stalled are only present while
	// they are true, and RolledOut once there is a rollout.
	//
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// TransformPhase is a summary of the state of a Transform.
//
// +kubebuilder:validation:Enum=Pending;Fetching;Generating;Ready;Failed
type TransformPhase string

// The phases of Transforms.
const (
	// TransformPending Transforms have not been seen by a manager.
	TransformPending TransformPhase = "Pending"
	// TransformFetching Transforms wait for their module or a policy.
	TransformFetching TransformPhase = "Fetching"
	// TransformGenerating Transforms have their module, and wait for the CRD and roles.
	TransformGenerating TransformPhase = "Generating"
	// TransformReady Transforms have a CRD that is served and instances are reconciled.
	TransformReady TransformPhase = "Ready"
	// TransformFailed Transforms need a change of the Transform, the module or the cluster.
	TransformFailed TransformPhase = "Failed"
)

// InstancePhase is a summary of the state of an instance of a generated kind.
type InstancePhase string

// The phases of instances.
const (
	// InstancePending instances have not been rendered yet.
	InstancePending InstancePhase = "Pending"
	// InstanceRendering instances have no graph of their generation yet, or one that is
	// being executed.
	InstanceRendering InstancePhase = "Rendering"
	// InstanceReady instances have a graph with only ready nodes.
	InstanceReady InstancePhase = "Ready"
	// InstanceFailed instances were refused, failed to render, or have a failed node.
	InstanceFailed InstancePhase = "Failed"
)

// The condition types of a Transform, in addition to [ConditionReady],
// [ConditionReconciling] and [ConditionStalled].
const (
	// ConditionCueFetched is True if the module and the policies were fetched. Its
	// reason names the cause of a failure, such as Unauthorized or NotFound.
	ConditionCueFetched = "CueFetched"
	// ConditionSchemaExtracted is True if the schema of #Input could be generated.
	ConditionSchemaExtracted = "SchemaExtracted"
	// ConditionCRDGenerated is True if the CRD was applied and is served.
	ConditionCRDGenerated = "CRDGenerated"
	// ConditionRolledOut is True if the last rollout has reached all instances. It is only
	// present if the Transform has had rollout settings. Its reason is the phase of the rollout.
	ConditionRolledOut = "RolledOut"
	// ConditionInstancesLost is True if the CRD was deleted by others, and all instances with it. It
	// is present until there are instances again, the Transform is changed, or a reconciliation is
	// requested.
	ConditionInstancesLost = "InstancesLost"
	// ConditionRBACConfigured is True if the generated roles were applied.
	ConditionRBACConfigured = "RBACConfigured"
)

// Reasons of conditions that several programs or packages write.
const (
	// ReasonWaitingForManager: no manager has seen the Transform.
	ReasonWaitingForManager = "WaitingForManager"
	// ReasonNamespaceNotAllowed: the manager ignores Transforms of the namespace.
	ReasonNamespaceNotAllowed = "NamespaceNotAllowed"
	// ReasonEscalationRefused: the roles have rights that the manager may not grant.
	ReasonEscalationRefused = "EscalationRefused"
)

// ResolvedCueRef is the module content that a CueRef was resolved to.
type ResolvedCueRef struct {
	// digest is the digest of the content, as sha256:HEX.
	//
	// +kubebuilder:validation:MaxLength=128
	Digest string `json:"digest"`
	// version is the version of the module, if it has one: a tag, a module version or
	// the commit of a branch.
	//
	// +kubebuilder:validation:MaxLength=256
	Version string `json:"version,omitempty"`
	// ref locates exactly this content, if the source has such references: an artifact
	// with its digest, or a repository with a commit.
	//
	// +kubebuilder:validation:MaxLength=2048
	Ref string `json:"ref,omitempty"`
	// fetchedAt is the time at which the content was fetched.
	FetchedAt metav1.Time `json:"fetchedAt"`
}

// AvailableCueRef is module content that was seen and is not in use yet, because it
// breaks the generated CRD, waits for an approval or is refused.
type AvailableCueRef struct {
	// digest is the digest of the content, as sha256:HEX.
	//
	// +kubebuilder:validation:MaxLength=128
	Digest string `json:"digest"`
	// version is the version of the module, if it has one.
	//
	// +kubebuilder:validation:MaxLength=256
	Version string `json:"version,omitempty"`
	// seenAt is the time at which the content was first seen.
	SeenAt metav1.Time `json:"seenAt"`
	// breaking is true if the content breaks the generated CRD. To approve that, set
	// spec.approvedBreakingDigest to digest.
	Breaking bool `json:"breaking,omitempty"`
	// changes describe what the content changes: fields of the generated CRD and
	// instances. At most 20 are listed, breaking ones first.
	//
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:MaxLength=512
	// +listType=atomic
	Changes []string `json:"changes,omitempty"`
	// changeCount is the number of changes, including those that are not listed.
	//
	// +optional
	ChangeCount int `json:"changeCount"`
}

// InstanceCounts counts the instances of a generated kind.
type InstanceCounts struct {
	// total is the number of instances.
	Total int `json:"total"`
	// ready is the number of instances that are ready.
	//
	// +optional
	Ready int `json:"ready"`
	// failed is the number of instances that are failed.
	//
	// +optional
	Failed int `json:"failed"`
	// pinned is the number of instances that have the annotation
	// pequod.io/pinned-version.
	//
	// +optional
	Pinned int `json:"pinned"`
}
