package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ActionStatus is the observed state of an Action. All lists in it are bounded.
type ActionStatus struct {
	// phase summarizes the state: Pending, Initializing, Planning, WaitingForApproval,
	// Applying, Completed, Failed or Destroying.
	Phase ActionPhase `json:"phase,omitempty"`
	// observedGeneration is the generation that the status describes. It is -1 until
	// pequod-actions has seen the Action.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// reconcileRequestedAt is the value of the annotation
	// pequod.io/reconcile-requested-at or reconcile.fluxcd.io/requestedAt that was
	// handled last.
	//
	// +kubebuilder:validation:MaxLength=256
	ReconcileRequestedAt string `json:"reconcileRequestedAt,omitempty"`
	// runs is the number of runs so far. It is a part of the key of the next run.
	Runs int64 `json:"runs,omitempty"`
	// run is the current run, or the last one.
	Run *ActionRun `json:"run,omitempty"`
	// applied is the last run that succeeded, and what undoes it.
	Applied *AppliedRun `json:"applied,omitempty"`
	// outputs are those of the last run that succeeded.
	//
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MaxProperties=100
	// +kubebuilder:pruning:PreserveUnknownFields
	Outputs map[string]runtime.RawExtension `json:"outputs,omitempty"`
	// plan has the changes that the current run would make. It waits for approval.
	Plan *ActionPlan `json:"plan,omitempty"`
	// jobs are the first 50 jobs of the run.
	//
	// +kubebuilder:validation:MaxItems=50
	// +listType=atomic
	Jobs []RunJob `json:"jobs,omitempty"`
	// artifacts are the first 50 artifacts of the run.
	//
	// +kubebuilder:validation:MaxItems=50
	// +listType=atomic
	Artifacts []RunArtifact `json:"artifacts,omitempty"`
	// lastCheck is the result of the last check for drift.
	LastCheck *CheckResult `json:"lastCheck,omitempty"`
	// failures is the number of runs that failed since the inputs changed or a run
	// succeeded.
	//
	// +kubebuilder:validation:Minimum=0
	Failures int32 `json:"failures,omitempty"`
	// nextAttemptAt is the time before which nothing is sent, because the last attempt
	// failed.
	NextAttemptAt *metav1.Time `json:"nextAttemptAt,omitempty"`
	// history lists the last finished runs, newest first.
	//
	// +kubebuilder:validation:MaxItems=10
	// +listType=atomic
	History []ActionRevision `json:"history,omitempty"`
	// conditions are Ready, Reconciling and Stalled, with the meaning that kstatus defines.
	// Reconciling and Stalled are only present while they are true.
	//
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ActionPhase is a summary of the state of an Action.
//
// +kubebuilder:validation:Enum=Pending;Initializing;Planning;WaitingForApproval;Applying;Completed;Failed;Destroying
type ActionPhase string

// The phases of Actions.
const (
	// ActionPending Actions have no run yet.
	ActionPending ActionPhase = "Pending"
	// ActionInitializing Actions have recorded a run that has not begun.
	ActionInitializing ActionPhase = "Initializing"
	// ActionPlanning Actions have a run that makes a plan.
	ActionPlanning ActionPhase = "Planning"
	// ActionWaitingForApproval Actions have a plan that waits for approval.
	ActionWaitingForApproval ActionPhase = "WaitingForApproval"
	// ActionApplying Actions have a run in progress.
	ActionApplying ActionPhase = "Applying"
	// ActionCompleted Actions have a run of their inputs that succeeded.
	ActionCompleted ActionPhase = "Completed"
	// ActionFailed Actions have a last run that failed.
	ActionFailed ActionPhase = "Failed"
	// ActionDestroying Actions are deleted, and wait for the end of a run.
	ActionDestroying ActionPhase = "Destroying"
)

// RunPurpose is the purpose of a run.
//
// +kubebuilder:validation:Enum=Apply;Check;Destroy
type RunPurpose string

// The purposes of runs.
const (
	RunApply   RunPurpose = "Apply"
	RunCheck   RunPurpose = "Check"
	RunDestroy RunPurpose = "Destroy"
)

// RunReason is why a run was started.
//
// +kubebuilder:validation:Enum=Spec;Requested;Drift;Retry;Schedule;Check;Destroy
type RunReason string

// The reasons of runs.
const (
	ReasonSpec      RunReason = "Spec"
	ReasonRequested RunReason = "Requested"
	ReasonDrift     RunReason = "Drift"
	ReasonRetry     RunReason = "Retry"
	ReasonSchedule  RunReason = "Schedule"
	ReasonCheck     RunReason = "Check"
	ReasonDestroy   RunReason = "Destroy"
)

// RunState is the state of a run.
//
// +kubebuilder:validation:Enum=Intended;Running;WaitingForApproval;Succeeded;Failed;Cancelled
type RunState string

// The states of runs.
const (
	// RunIntended runs were recorded. It isn't known whether they have begun.
	RunIntended RunState = "Intended"
	// RunRunning runs have begun.
	RunRunning RunState = "Running"
	// RunWaitingForApproval runs have a plan that must be approved.
	RunWaitingForApproval RunState = "WaitingForApproval"
	// RunSucceeded, RunFailed and RunCancelled runs have ended.
	RunSucceeded RunState = "Succeeded"
	RunFailed    RunState = "Failed"
	RunCancelled RunState = "Cancelled"
)

// ActionRun is one run. It is recorded before anything is sent.
type ActionRun struct {
	// key identifies the run at the server. It is derived from the UID of the Action, the
	// inputs and the attempt.
	//
	// +kubebuilder:validation:MaxLength=64
	Key string `json:"key"`
	// purpose is Apply, Check or Destroy.
	Purpose RunPurpose `json:"purpose"`
	// reason is why the run was started.
	Reason RunReason `json:"reason"`
	// generation is the generation of the Action that the inputs are of.
	Generation int64 `json:"generation"`
	// attempt is the number of the run.
	Attempt int64 `json:"attempt"`
	// inputs is the digest of the inputs.
	//
	// +kubebuilder:validation:MaxLength=64
	Inputs string `json:"inputs"`
	// request has the executor and its inputs as they were recorded. A change of the spec
	// doesn't change a run.
	Request ActionExecutor `json:"request"`
	// state is Intended, Running, WaitingForApproval, Succeeded, Failed or Cancelled.
	State RunState `json:"state"`
	// id is the server's name of the run, if it has one.
	//
	// +kubebuilder:validation:MaxLength=2048
	ID string `json:"id,omitempty"`
	// url is where people can look at the run.
	//
	// +kubebuilder:validation:MaxLength=2048
	URL string `json:"url,omitempty"`
	// message is the last message of the server, or the error.
	//
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
	// permanent is true if the run failed for a reason that a repetition doesn't change.
	Permanent bool `json:"permanent,omitempty"`
	// intentAt is the time at which the run was recorded.
	IntentAt metav1.Time `json:"intentAt"`
	// startedAt is the time at which the run began.
	StartedAt *metav1.Time `json:"startedAt,omitempty"`
	// finishedAt is the time at which the run ended.
	FinishedAt *metav1.Time `json:"finishedAt,omitempty"`
	// cancelRequestedAt is the time at which the server was asked to cancel the run.
	CancelRequestedAt *metav1.Time `json:"cancelRequestedAt,omitempty"`
	// cancelReason is why.
	//
	// +kubebuilder:validation:MaxLength=256
	CancelReason string `json:"cancelReason,omitempty"`
	// approved is the digest of the plan that was approved.
	//
	// +kubebuilder:validation:MaxLength=80
	Approved string `json:"approved,omitempty"`
	// errors is the number of requests that failed in a row.
	//
	// +kubebuilder:validation:Minimum=0
	Errors int32 `json:"errors,omitempty"`
}

// Ended reports whether the run has ended.
func (r *ActionRun) Ended() bool {
	switch r.State {
	case RunSucceeded, RunFailed, RunCancelled:
		return true
	}
	return false
}

// MaxListed is the number of jobs, and of artifacts, in a status.
const MaxListed = 50

// RunJob is a job of a run.
type RunJob struct {
	// name is the name of the job.
	//
	// +kubebuilder:validation:MaxLength=256
	Name string `json:"name"`
	// status is the server's word for the state of the job.
	//
	// +kubebuilder:validation:MaxLength=64
	Status string `json:"status,omitempty"`
	// conclusion is the server's word for the result of the job.
	//
	// +kubebuilder:validation:MaxLength=64
	Conclusion string `json:"conclusion,omitempty"`
	// startedAt is the time at which the job began.
	StartedAt *metav1.Time `json:"startedAt,omitempty"`
	// completedAt is the time at which the job ended.
	CompletedAt *metav1.Time `json:"completedAt,omitempty"`
}

// RunArtifact is a file that a run has stored at its server.
type RunArtifact struct {
	// name is the name of the artifact.
	//
	// +kubebuilder:validation:MaxLength=256
	Name string `json:"name"`
	// sizeInBytes is its size.
	SizeInBytes int64 `json:"sizeInBytes,omitempty"`
}

// AppliedRun is the last run that may have changed something, and what undoes it.
type AppliedRun struct {
	// key is the key of the run.
	//
	// +kubebuilder:validation:MaxLength=64
	Key string `json:"key"`
	// inputs is the digest of the inputs of the last run that succeeded, or empty.
	//
	// +kubebuilder:validation:MaxLength=64
	Inputs string `json:"inputs,omitempty"`
	// at is the time at which that run ended.
	At *metav1.Time `json:"at,omitempty"`
	// id is the server's name of that run, if it has one.
	//
	// +kubebuilder:validation:MaxLength=2048
	ID string `json:"id,omitempty"`
	// attempt is the number of that run.
	Attempt int64 `json:"attempt,omitempty"`
	// outputs is the digest of the expressions that status.outputs are from.
	//
	// +kubebuilder:validation:MaxLength=64
	Outputs string `json:"outputs,omitempty"`
	// refusedOutputs is the digest of other expressions that the run can't be read with.
	//
	// +kubebuilder:validation:MaxLength=64
	RefusedOutputs string `json:"refusedOutputs,omitempty"`
	// outputsError is why.
	//
	// +kubebuilder:validation:MaxLength=1024
	OutputsError string `json:"outputsError,omitempty"`
	// destroy undoes the run, as it was recorded with it.
	Destroy *ActionDestroy `json:"destroy,omitempty"`
}

// ActionPlan has the changes that a run would make.
type ActionPlan struct {
	// digest identifies the plan, as sha256:HEX. The annotation pequod.io/approved-plan with
	// this value approves it.
	//
	// +kubebuilder:validation:MaxLength=80
	Digest string `json:"digest"`
	// summary describes the plan to people.
	//
	// +kubebuilder:validation:MaxLength=4096
	Summary string `json:"summary,omitempty"`
}

// CheckResult is the result of a check for drift.
type CheckResult struct {
	// at is the time at which the check ended.
	At metav1.Time `json:"at"`
	// result is InSync, Drifted or Failed.
	Result CheckOutcome `json:"result"`
	// message explains the result.
	//
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}

// CheckOutcome is the outcome of a check.
//
// +kubebuilder:validation:Enum=InSync;Drifted;Failed
type CheckOutcome string

// The outcomes of checks.
const (
	CheckInSync  CheckOutcome = "InSync"
	CheckDrifted CheckOutcome = "Drifted"
	CheckFailed  CheckOutcome = "Failed"
)

// ActionRevision is a finished run.
type ActionRevision struct {
	// generation is the generation of the Action that was run.
	Generation int64 `json:"generation"`
	// attempt is the number of the run.
	Attempt int64 `json:"attempt"`
	// reason is why the run was started.
	Reason RunReason `json:"reason"`
	// result is Succeeded, Failed or Cancelled.
	Result RunState `json:"result"`
	// message is the last message of the server, or the error.
	//
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
	// startedAt is the time at which the run was recorded.
	StartedAt metav1.Time `json:"startedAt"`
	// finishedAt is the time at which the run ended.
	FinishedAt metav1.Time `json:"finishedAt"`
	// url is where people can look at the run.
	//
	// +kubebuilder:validation:MaxLength=2048
	URL string `json:"url,omitempty"`
}
