package v1alpha1

import (
	"k8s.io/apimachinery/pkg/runtime"
)

// RawObject is any JSON object.
type RawObject = runtime.RawExtension

// MonitorRule is a condition about the state, with the reactions to it.
//
// +kubebuilder:validation:XValidation:rule="has(self.when) || has(self.trigger) || (has(self.firesOn) && self.firesOn == 'Change')",message="when or trigger is required, unless firesOn is Change"
// +kubebuilder:validation:XValidation:rule="!has(self.when) || !has(self.trigger)",message="at most one of when and trigger is allowed"
type MonitorRule struct {
	// name identifies the rule in the status and in Events.
	//
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// when is a CEL expression that yields true or false. It reads state, old (the state of
	// the poll before, or state if that isn't known), target.name and monitor.name. A
	// value that doesn't exist yields false.
	When MonitorExpression `json:"when,omitempty"`
	// trigger is another form of when: a comparison of one field.
	Trigger *MonitorTrigger `json:"trigger,omitempty"`
	// firesOn is Enter, the default, Leave, Change or While: whether the rule fires when the
	// condition begins to hold, when it ceases to hold, when the state changes while the
	// condition is true, or at every poll while it holds.
	FiresOn MonitorFiresOn `json:"firesOn,omitempty"`
	// for is how long the condition must be true before the rule holds, as a Go duration. For
	// Leave it is how long the condition must be false, and for Change how long the new state
	// must remain.
	For Duration `json:"for,omitempty"`
	// cooldown is the shortest time between two firings for one target, as a Go duration.
	Cooldown Duration `json:"cooldown,omitempty"`
	// limit is how often the rule may fire for all targets together. Beyond it, the rule is
	// tripped: an Event says so, and nothing is done.
	Limit *MonitorLimit `json:"limit,omitempty"`
	// severity is Info, the default, or Error: the Monitor isn't ready while a rule of the
	// severity Error holds.
	Severity MonitorSeverity `json:"severity,omitempty"`
	// do are the reactions, in their order. A reaction that fails ends the list.
	//
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	Do []MonitorReaction `json:"do,omitempty"`
}

// MonitorTrigger compares a field of the state with a value.
type MonitorTrigger struct {
	// field is the path of a field of the state, such as application.health.
	//
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$`
	Field string `json:"field"`
	// condition is equals, not_equals, greater_than, less_than, contains or exists.
	Condition MonitorCondition `json:"condition"`
	// value is a string, a number, or true or false. It is required, unless the condition is
	// exists.
	//
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Value *runtime.RawExtension `json:"value,omitempty"`
}

// MonitorCondition is a comparison.
//
// +kubebuilder:validation:Enum=equals;not_equals;greater_than;less_than;contains;exists
type MonitorCondition string

// MonitorFiresOn is the event that a rule fires on. The field isn't called on, which YAML 1.1, and
// so kubectl, reads as true.
//
// +kubebuilder:validation:Enum=Enter;Leave;Change;While
type MonitorFiresOn string

// MonitorSeverity is Info or Error.
//
// +kubebuilder:validation:Enum=Info;Error
type MonitorSeverity string

// MonitorError is the severity of rules that make a Monitor not ready.
const MonitorError MonitorSeverity = "Error"

// MonitorLimit is a number of firings in a time.
type MonitorLimit struct {
	// count is the number of firings.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Count int32 `json:"count"`
	// per is the time, as a Go duration.
	Per Duration `json:"per"`
}

// MonitorReaction is what a rule does when it fires: exactly one of its fields. All of it is
// done as the service account of the Monitor, in its namespace.
//
// +kubebuilder:validation:XValidation:rule="[has(self.restartPods), has(self.scale), has(self.patch), has(self.http), has(self.exec), has(self.run), has(self.reconcile)].exists_one(x, x)",message="exactly one of restartPods, scale, patch, http, exec, run and reconcile is required"
type MonitorReaction struct {
	// restartPods evicts Pods of the target, which their controllers replace.
	RestartPods *RestartPodsReaction `json:"restartPods,omitempty"`
	// scale sets the number of replicas.
	Scale *ScaleReaction `json:"scale,omitempty"`
	// patch applies fields of an object.
	Patch *PatchReaction `json:"patch,omitempty"`
	// http sends a request, such as a notification.
	HTTP *HTTPReaction `json:"http,omitempty"`
	// exec runs a command in a container of the Pod that the rule fired for. It requires
	// --enable-exec of pequod-actions.
	Exec *ExecReaction `json:"exec,omitempty"`
	// run requests a run of an Action.
	Run *RunReaction `json:"run,omitempty"`
	// reconcile requests a reconciliation of an object of Pequod.
	Reconcile *ReconcileReaction `json:"reconcile,omitempty"`
}

// Name returns the name of the reaction, or "".
func (r MonitorReaction) Name() string {
	switch {
	case r.RestartPods != nil:
		return "restartPods"
	case r.Scale != nil:
		return "scale"
	case r.Patch != nil:
		return "patch"
	case r.HTTP != nil:
		return "http"
	case r.Exec != nil:
		return "exec"
	case r.Run != nil:
		return "run"
	case r.Reconcile != nil:
		return "reconcile"
	}
	return ""
}

// RestartPodsReaction evicts Pods, so disruption budgets hold. The account needs the right to
// create pods/eviction.
type RestartPodsReaction struct {
	// gracePeriodSeconds is the time that the Pods get to end. Defaults to that of the Pod.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=86400
	GracePeriodSeconds *int64 `json:"gracePeriodSeconds,omitempty"`
	// which is Matching, the default, or All: the Pod that the rule fired for, or all Pods of
	// the target.
	//
	// +kubebuilder:validation:Enum=Matching;All
	Which string `json:"which,omitempty"`
	// maxUnavailable is how many Pods of the target may be unavailable after the eviction;
	// Pods that aren't ready count, except those that are evicted. Defaults to 1. If more would be, the
	// reaction fails, and the rule must fire again.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	MaxUnavailable *int32 `json:"maxUnavailable,omitempty"`
}

// ScaleReaction applies the number of replicas through the subresource scale. It is refused
// if a graph, an autoscaler, Flux or Argo CD would take the number back. The account needs the
// right to patch the subresource.
type ScaleReaction struct {
	// apiVersion is the group and version of the object. Defaults to apps/v1.
	//
	// +kubebuilder:validation:MaxLength=253
	APIVersion string `json:"apiVersion,omitempty"`
	// kind is the kind of the object, such as Deployment.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Kind string `json:"kind"`
	// name is the name of the object.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// replicas is the number of replicas.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10000
	Replicas int32 `json:"replicas"`
}

// PatchReaction applies fields of an object by server-side apply. It is refused if a graph, an
// autoscaler, Flux or Argo CD would take one of them back. The object must exist.
type PatchReaction struct {
	// apiVersion is the group and version of the object.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	APIVersion string `json:"apiVersion"`
	// kind is the kind of the object.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Kind string `json:"kind"`
	// name is the name of the object.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// type is Apply.
	//
	// +kubebuilder:validation:Enum=Apply
	Type string `json:"type,omitempty"`
	// patch has the fields to apply, without apiVersion, kind and the name.
	//
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Patch RawObject `json:"patch"`
}

// HTTPReaction sends a request to a host that pequod-actions may connect to.
//
// +kubebuilder:validation:XValidation:rule="has(self.url) != has(self.urlSecretRef)",message="exactly one of url and urlSecretRef is required"
// +kubebuilder:validation:XValidation:rule="!has(self.timeout) || duration(self.timeout) <= duration('30s')",message="timeout must be at most 30s"
type HTTPReaction struct {
	// url is the address.
	//
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^https?://[^/?#@]+`
	URL string `json:"url,omitempty"`
	// urlSecretRef is the key of a Secret that has the address, for addresses that are secret.
	URLSecretRef *SecretKeyRef `json:"urlSecretRef,omitempty"`
	// method is GET, POST, PUT, PATCH or DELETE. Defaults to POST.
	Method HTTPMethod `json:"method,omitempty"`
	// headers are sent with the request. Credentials belong to headersSecretRef.
	//
	// +kubebuilder:validation:MaxProperties=32
	Headers map[string]HeaderValue `json:"headers,omitempty"`
	// headersSecretRef names a Secret; each of its keys is the name of a header that is sent
	// with the value.
	HeadersSecretRef *SecretRef `json:"headersSecretRef,omitempty"`
	// body is a CEL expression over the variables of when, and rule.name, that yields a
	// string, which is sent as it is, or a value that is sent as JSON.
	Body MonitorExpression `json:"body,omitempty"`
	// timeout limits the request, as a Go duration of at most 30s. Defaults to 30s.
	Timeout Duration `json:"timeout,omitempty"`
}

// ExecReaction runs a command, without a shell. The account needs the right to create pods/exec.
//
// +kubebuilder:validation:XValidation:rule="!has(self.timeout) || duration(self.timeout) <= duration('30m')",message="timeout must be at most 30m"
type ExecReaction struct {
	// container is the name of the container. Defaults to the first one.
	//
	// +kubebuilder:validation:MaxLength=63
	Container string `json:"container,omitempty"`
	// command is the program with its arguments.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=4096
	// +listType=atomic
	Command []string `json:"command"`
	// workingDir is the directory in which the command runs. Kubernetes has no such
	// parameter, so the container's /bin/sh changes to it and then executes the command; the
	// arguments are not parsed by the shell.
	//
	// +kubebuilder:validation:MaxLength=4096
	// +kubebuilder:validation:Pattern=`^/`
	WorkingDir string `json:"workingDir,omitempty"`
	// timeout limits the command, as a Go duration of at most 30m. Defaults to 30s. All
	// reactions of one firing together have 30m.
	Timeout Duration `json:"timeout,omitempty"`
	// reportOutput has the output in the Event, at most 900 bytes. Otherwise it is dropped.
	ReportOutput bool `json:"reportOutput,omitempty"`
}

// RunReaction requests a run of an Action, which runs again although its inputs are the same.
type RunReaction struct {
	// action is the name of the Action.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Action string `json:"action"`
}

// ReconcileReaction requests a reconciliation by the annotation
// pequod.io/reconcile-requested-at.
type ReconcileReaction struct {
	// apiVersion is the group and version of the object. Defaults to
	// platform.pequod.io/v1alpha1.
	//
	// +kubebuilder:validation:MaxLength=253
	APIVersion string `json:"apiVersion,omitempty"`
	// kind is the kind of the object, such as ResourceGraph.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Kind string `json:"kind"`
	// name is the name of the object.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}
