package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Rollout selects how a new version of a module reaches the instances: in batches,
// and each batch must become ready before the next one begins.
//
// Instances that the new version changes in the same way form an impact group. The
// first batch has at least one instance of each group, so that every way of changing
// is tried before more instances change. Instances whose graph stays the same follow
// at the end and don't count.
type Rollout struct {
	// batches are the numbers of instances that have the new version at the end of each
	// batch, as a number or a percentage of the instances that change, for example
	// [1, "10%", "50%", "100%"]. The numbers include the batches before. Percentages are
	// rounded up. A last batch of 100% is added if it is missing. Defaults to
	// one batch of 100%.
	//
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:XIntOrString
	// +kubebuilder:validation:items:Pattern=`^([1-9][0-9]?|100)%$`
	// +kubebuilder:validation:XValidation:rule="self.all(b, type(b) != int || int(b) >= 1)",reason=FieldValueInvalid,message="must be numbers from 1, or percentages from 1% to 100%"
	// +listType=atomic
	Batches []intstr.IntOrString `json:"batches,omitempty"`
	// orderBy orders the instances within an impact group, and the groups by their first
	// instances. Later entries order instances that are equal by the ones before.
	// Defaults to the names.
	//
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	OrderBy []RolloutOrder `json:"orderBy,omitempty"`
	// pauseBetween is the time between the moment at which all instances of a batch are
	// ready and the start of the next batch. Defaults to 0s.
	//
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(s|m|h))+$`
	PauseBetween *metav1.Duration `json:"pauseBetween,omitempty"`
	// haltWhen selects the failures that halt the rollout. A halted rollout changes no
	// further instance until a new version, an abort or a request to resume.
	HaltWhen *RolloutHalt `json:"haltWhen,omitempty"`
	// approval selects who starts batches. Without it, they start by themselves.
	Approval *RolloutApproval `json:"approval,omitempty"`
	// abortedDigest is the digest of the module whose rollout is aborted, as sha256:HEX.
	// Instances that have this content get back the graph that they had before. The
	// rollout of any other content isn't affected.
	//
	// +kubebuilder:validation:Pattern=`^sha256:[0-9a-f]{64}$`
	AbortedDigest string `json:"abortedDigest,omitempty"`
}

// RolloutOrder is one key of the order of instances in a rollout.
//
// +kubebuilder:validation:XValidation:rule="has(self.key) == (self.by == 'Label' || self.by == 'Annotation')",fieldPath=".key",reason=FieldValueInvalid,message="is required for Label and Annotation, and only for them"
// +kubebuilder:validation:XValidation:rule="!has(self.values) || self.by == 'Label' || self.by == 'Annotation'",fieldPath=".values",reason=FieldValueForbidden,message="is only for Label and Annotation"
type RolloutOrder struct {
	// by is Name, Label, Annotation or Random. Name orders by namespace and name. Random
	// orders by a hash of the names and the new digest, so that each rollout begins
	// with other instances.
	By RolloutOrderBy `json:"by"`
	// key is the label or annotation of the instances whose value orders them.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	Key string `json:"key,omitempty"`
	// values are the values in their order, for example [dev, staging, prod]. Other values
	// follow: integers in ascending order, then text in lexical order, then instances
	// without the label or annotation.
	//
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=256
	// +listType=set
	Values []string `json:"values,omitempty"`
}

// RolloutOrderBy is an attribute that orders the instances of a rollout.
//
// +kubebuilder:validation:Enum=Name;Label;Annotation;Random
type RolloutOrderBy string

// The attributes that order instances.
const (
	OrderByName       RolloutOrderBy = "Name"
	OrderByLabel      RolloutOrderBy = "Label"
	OrderByAnnotation RolloutOrderBy = "Annotation"
	OrderByRandom     RolloutOrderBy = "Random"
)

// RolloutHalt selects the failures that halt a rollout.
type RolloutHalt struct {
	// failedInstances is the number of failed instances that halts the rollout, or their
	// percentage of the instances that have the new version, rounded up. Defaults to 1.
	//
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^([1-9][0-9]?|100)%$`
	// +kubebuilder:validation:XValidation:rule="type(self) != int || int(self) >= 1",reason=FieldValueInvalid,message="must be a number from 1, or a percentage from 1% to 100%"
	FailedInstances *intstr.IntOrString `json:"failedInstances,omitempty"`
	// refusedInstances is the number of instances that the new version refuses that halts
	// the rollout, or their percentage of all instances, rounded up. A version refuses
	// an instance that violates its schema or a policy, or that it fails to render.
	// Refused instances are known before the first batch, and keep their graph.
	// Defaults to 1.
	//
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^([1-9][0-9]?|100)%$`
	// +kubebuilder:validation:XValidation:rule="type(self) != int || int(self) >= 1",reason=FieldValueInvalid,message="must be a number from 1, or a percentage from 1% to 100%"
	RefusedInstances *intstr.IntOrString `json:"refusedInstances,omitempty"`
	// progressDeadline is the time after the start of a batch in which its instances must
	// become ready. Instances that don't count as failed. Defaults to 10m.
	//
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s')",reason=FieldValueInvalid,message="must be more than 0s"
	ProgressDeadline *metav1.Duration `json:"progressDeadline,omitempty"`
}

// DefaultProgressDeadline is the time in which the instances of a batch must become
// ready unless progressDeadline is set.
const DefaultProgressDeadline = 10 * time.Minute

// RolloutApproval selects who starts the batches of a rollout. An approval is always
// that of one content: it has no effect on later versions.
//
// +kubebuilder:validation:XValidation:rule="!has(self.digest) || self.mode != 'Automatic'",fieldPath=".digest",reason=FieldValueForbidden,message="is not for Automatic"
// +kubebuilder:validation:XValidation:rule="!has(self.batch) || self.mode == 'Batch'",fieldPath=".batch",reason=FieldValueForbidden,message="is only for Batch"
// +kubebuilder:validation:XValidation:rule="!has(self.batch) || has(self.digest)",fieldPath=".digest",reason=FieldValueRequired,message="must name the module whose batches are approved"
type RolloutApproval struct {
	// mode is Automatic, Digest or Batch. Automatic starts batches without an approval. Digest
	// waits before the first batch until digest is that of the new version. Batch waits
	// in addition before each batch until its number is approved.
	Mode RolloutApprovalMode `json:"mode"`
	// digest is the digest of the module whose rollout is approved, as sha256:HEX.
	//
	// +kubebuilder:validation:Pattern=`^sha256:[0-9a-f]{64}$`
	Digest string `json:"digest,omitempty"`
	// batch is the number of the last batch that is approved, from 1.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=33
	Batch int `json:"batch,omitempty"`
}

// RolloutApprovalMode selects what has to be approved in a rollout.
//
// +kubebuilder:validation:Enum=Automatic;Digest;Batch
type RolloutApprovalMode string

// The modes of approval.
const (
	ApprovalAutomatic RolloutApprovalMode = "Automatic"
	ApprovalDigest    RolloutApprovalMode = "Digest"
	ApprovalBatch     RolloutApprovalMode = "Batch"
)

// RolloutStatus is the recorded state of the last rollout. A manager records a batch
// before it changes the first instance of it. Each graph has the digest that its
// instance got, so that a manager that was killed continues where the other ended.
type RolloutStatus struct {
	// phase is Pending, Progressing, Paused, Halted, Aborting, Aborted or Completed.
	Phase RolloutPhase `json:"phase,omitempty"`
	// fromDigest is the digest of the module that instances had before, as sha256:HEX.
	FromDigest string `json:"fromDigest,omitempty"`
	// toDigest is the digest of the new module, as sha256:HEX.
	ToDigest string `json:"toDigest,omitempty"`
	// batch is the number of the current batch, from 1. It is 0 before the first one.
	//
	// +optional
	Batch int `json:"batch"`
	// batches is the number of batches.
	//
	// +optional
	Batches int `json:"batches"`
	// updated is the number of changing instances that have the new version.
	//
	// +optional
	Updated int `json:"updated"`
	// total is the number of instances that change.
	//
	// +optional
	Total int `json:"total"`
	// allowed is the number of changing instances that may have the new version. It is
	// recorded before they get it. Within the first batch it grows in steps, so
	// that no more instances are tried at a time than the batch has.
	//
	// +optional
	Allowed int `json:"allowed"`
	// canaries are the instances of the first batch that were chosen so that each way of
	// changing is seen once, as NAMESPACE/NAME. If there are more than 100 ways,
	// they are those of the largest impact groups.
	//
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MaxLength=317
	// +listType=atomic
	Canaries []string `json:"canaries,omitempty"`
	// batchStartedAt is the time at which the current batch, or the current step of the
	// first batch, started.
	BatchStartedAt *metav1.Time `json:"batchStartedAt,omitempty"`
	// batchReadyAt is the time at which all instances of the current batch were ready.
	BatchReadyAt *metav1.Time `json:"batchReadyAt,omitempty"`
	// haltedReason is the cause of the halt: InstanceFailed, DeadlineExceeded or
	// InstanceRefused.
	//
	// +kubebuilder:validation:MaxLength=64
	HaltedReason string `json:"haltedReason,omitempty"`
	// haltedInstance is the first instance that failed or was refused, as NAMESPACE/NAME.
	//
	// +kubebuilder:validation:MaxLength=317
	HaltedInstance string `json:"haltedInstance,omitempty"`
	// message explains the phase: why the rollout is halted, or what it waits for.
	//
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
	// resumeRequest is the value of the annotation pequod.io/resume-rollout that was
	// handled last.
	//
	// +kubebuilder:validation:MaxLength=256
	ResumeRequest string `json:"resumeRequest,omitempty"`
}

// MaxCanaries is the largest number of canaries of a rollout. The CRD enforces it by the
// marker on the field.
const MaxCanaries = 100

// RolloutPhase is the state of a rollout.
//
// +kubebuilder:validation:Enum=Pending;Progressing;Paused;Halted;Aborting;Aborted;Completed
type RolloutPhase string

// The phases of rollouts.
const (
	// RolloutPending rollouts wait for an approval.
	RolloutPending RolloutPhase = "Pending"
	// RolloutProgressing rollouts change the instances of a batch, or wait until they
	// are ready.
	RolloutProgressing RolloutPhase = "Progressing"
	// RolloutPaused rollouts wait for the time between two batches.
	RolloutPaused RolloutPhase = "Paused"
	// RolloutHalted rollouts change no instance, because of a failure.
	RolloutHalted RolloutPhase = "Halted"
	// RolloutAborting rollouts restore the graphs of changed instances.
	RolloutAborting RolloutPhase = "Aborting"
	// RolloutAborted rollouts have restored them.
	RolloutAborted RolloutPhase = "Aborted"
	// RolloutCompleted rollouts have reached all instances.
	RolloutCompleted RolloutPhase = "Completed"
)

// The reasons of a halt.
const (
	HaltInstanceFailed   = "InstanceFailed"
	HaltDeadlineExceeded = "DeadlineExceeded"
	HaltInstanceRefused  = "InstanceRefused"
)
