package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MaxMonitorTargets is the number of targets that one Monitor reads.
const MaxMonitorTargets = 100

// MonitorStatus is the observed state of a Monitor. All lists in it are bounded. It is written
// when more than times and counts change, and every few minutes otherwise.
type MonitorStatus struct {
	// observedGeneration is the generation that the status describes. It is -1 until
	// pequod-actions has seen the Monitor.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// reconcileRequestedAt is the value of the annotation
	// pequod.io/reconcile-requested-at or reconcile.fluxcd.io/requestedAt that was
	// handled last.
	//
	// +kubebuilder:validation:MaxLength=256
	ReconcileRequestedAt string `json:"reconcileRequestedAt,omitempty"`
	// targetCount is the number of targets, including those that are not read.
	TargetCount int32 `json:"targetCount,omitempty"`
	// changedAt is the time of the last change of a state.
	ChangedAt *metav1.Time `json:"changedAt,omitempty"`
	// targets are what is read: at most 100 Pods, the first ones by name.
	//
	// +kubebuilder:validation:MaxItems=100
	// +listType=map
	// +listMapKey=name
	Targets []MonitorTargetStatus `json:"targets,omitempty"`
	// rules are the rules, in the order of the spec.
	//
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=name
	Rules []MonitorRuleStatus `json:"rules,omitempty"`
	// firings are those whose reactions have not ended. After a crash of pequod-actions, the
	// reactions of a firing begin again.
	//
	// +kubebuilder:validation:MaxItems=100
	// +listType=atomic
	Firings []MonitorFiring `json:"firings,omitempty"`
	// conditions are Ready, Reconciling and Stalled, with the meaning that kstatus defines.
	// Reconciling and Stalled are only present while they are true.
	//
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// MonitorTargetStatus is the state of one target.
type MonitorTargetStatus struct {
	// name is the name of the Pod, the Service, the host or the object.
	Name string `json:"name"`
	// uid is the UID of the Pod or of the object. Another Pod of the same name is another
	// target.
	UID string `json:"uid,omitempty"`
	// reachable reports whether the last poll succeeded.
	Reachable bool `json:"reachable"`
	// message is why the last poll failed.
	//
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
	// lastPollAt is the time of the last poll.
	LastPollAt *metav1.Time `json:"lastPollAt,omitempty"`
	// changedAt is the time of the last change of the state.
	ChangedAt *metav1.Time `json:"changedAt,omitempty"`
	// failures is the number of polls that failed since one succeeded.
	Failures int32 `json:"failures,omitempty"`
	// stateDigest is the digest of the state. The state itself isn't stored.
	StateDigest string `json:"stateDigest,omitempty"`
	// rules is what the rules remember about the target.
	//
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=name
	Rules []MonitorMemory `json:"rules,omitempty"`
}

// MonitorMemory is what a rule remembers about a target.
type MonitorMemory struct {
	// name is the name of the rule.
	Name string `json:"name"`
	// holds reports whether the rule holds for the target.
	Holds bool `json:"holds,omitempty"`
	// since is when the condition, or for Change the state, became other than the confirmed
	// one.
	Since *metav1.MicroTime `json:"since,omitempty"`
	// confirmed is the digest of the confirmed state, and candidate that of a newer one.
	Confirmed string `json:"confirmed,omitempty"`
	Candidate string `json:"candidate,omitempty"`
	// owed is set if the rule should have fired, and cooldown or limit prevented it.
	Owed bool `json:"owed,omitempty"`
	// tripped is set while the limit prevents a firing.
	Tripped bool `json:"tripped,omitempty"`
	// firedAt is when the rule fired last for the target.
	FiredAt *metav1.MicroTime `json:"firedAt,omitempty"`
}

// MonitorRuleStatus is the state of a rule for all targets.
type MonitorRuleStatus struct {
	// name is the name of the rule.
	Name string `json:"name"`
	// holds reports whether the rule holds for a target.
	Holds bool `json:"holds"`
	// since is when that changed.
	Since *metav1.Time `json:"since,omitempty"`
	// tripped reports whether the limit prevents a firing.
	Tripped bool `json:"tripped,omitempty"`
	// fired is the number of firings, and firedAt the time of the last one.
	Fired   int64             `json:"fired,omitempty"`
	FiredAt *metav1.MicroTime `json:"firedAt,omitempty"`
	// recent are the firings that count for the limit.
	//
	// +kubebuilder:validation:MaxItems=100
	// +listType=atomic
	Recent []metav1.MicroTime `json:"recent,omitempty"`
	// lastResult is the result of the last reactions.
	//
	// +kubebuilder:validation:MaxLength=1024
	LastResult string `json:"lastResult,omitempty"`
}

// MonitorFiring is a rule that has fired for a target.
type MonitorFiring struct {
	// rule is the name of the rule.
	Rule string `json:"rule"`
	// target is the name of the target, and uid its UID.
	Target string `json:"target"`
	UID    string `json:"uid,omitempty"`
	// at is when the rule fired.
	At metav1.MicroTime `json:"at"`
}
