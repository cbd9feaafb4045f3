package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Action runs something outside of the cluster, such as a request to an HTTP API, once for
// each change of its inputs, and publishes the outputs of the run in its status. It is ready
// when the run of its current inputs has succeeded, so a graph that has an Action as a
// resource waits for it. pequod-actions executes Actions.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=pequod
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Attempt",type=integer,JSONPath=`.status.run.attempt`
// +kubebuilder:printcolumn:name="URL",type=string,priority=1,JSONPath=`.status.run.url`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Action struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec has the request to run, and when to run it.
	Spec ActionSpec `json:"spec"`
	// status is the observed state, written by pequod-actions. Until pequod-actions has seen
	// the Action, phase is Pending, observedGeneration is -1, and the condition Ready is
	// Unknown with the reason WaitingForActions.
	//
	// +kubebuilder:default:={"phase":"Pending","observedGeneration":-1,"conditions":{{"type":"Ready","status":"Unknown","reason":"WaitingForActions","message":"no pequod-actions has seen the Action","lastTransitionTime":"1970-01-01T00:00:00Z"}}}
	Status ActionStatus `json:"status,omitzero"`
}

// ActionList is a list of Actions.
//
// +kubebuilder:object:root=true
type ActionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Action `json:"items"`
}

// ActionSpec describes the run of an Action: exactly one executor with its inputs, and when
// it runs again.
//
// +kubebuilder:validation:XValidation:rule="[has(self.http), has(self.job), has(self.external), has(self.githubWorkflow), has(self.gitlabPipeline), has(self.terraform)].exists_one(x, x)",message="exactly one of http, job, external, githubWorkflow, gitlabPipeline and terraform is required"
// +kubebuilder:validation:XValidation:rule="!has(self.githubWorkflow) || has(self.githubWorkflow.repository) && has(self.githubWorkflow.ref) && has(self.githubWorkflow.auth)",message="githubWorkflow requires repository, ref and auth"
// +kubebuilder:validation:XValidation:rule="!has(self.gitlabPipeline) || has(self.gitlabPipeline.project) && has(self.gitlabPipeline.ref) && has(self.gitlabPipeline.auth)",message="gitlabPipeline requires project, ref and auth"
// +kubebuilder:validation:XValidation:rule="!has(self.terraform) || has(self.terraform.image) && has(self.terraform.source)",message="terraform requires image and source"
// +kubebuilder:validation:XValidation:rule="has(self.githubWorkflow) || (!has(self.check) || !has(self.check.githubWorkflow) || has(self.check.githubWorkflow.repository) && has(self.check.githubWorkflow.ref) && has(self.check.githubWorkflow.auth)) && (!has(self.destroy) || !has(self.destroy.githubWorkflow) || has(self.destroy.githubWorkflow.repository) && has(self.destroy.githubWorkflow.ref) && has(self.destroy.githubWorkflow.auth))",message="githubWorkflow of check and destroy requires repository, ref and auth, because the spec has no githubWorkflow to take them over from"
// +kubebuilder:validation:XValidation:rule="has(self.gitlabPipeline) || (!has(self.check) || !has(self.check.gitlabPipeline) || has(self.check.gitlabPipeline.project) && has(self.check.gitlabPipeline.ref) && has(self.check.gitlabPipeline.auth)) && (!has(self.destroy) || !has(self.destroy.gitlabPipeline) || has(self.destroy.gitlabPipeline.project) && has(self.destroy.gitlabPipeline.ref) && has(self.destroy.gitlabPipeline.auth))",message="gitlabPipeline of check and destroy requires project, ref and auth, because the spec has no gitlabPipeline to take them over from"
// +kubebuilder:validation:XValidation:rule="has(self.terraform) || (!has(self.check) || !has(self.check.terraform) || has(self.check.terraform.image) && has(self.check.terraform.source)) && (!has(self.destroy) || !has(self.destroy.terraform) || has(self.destroy.terraform.image) && has(self.destroy.terraform.source))",message="terraform of check and destroy requires image and source, because the spec has no terraform to take them over from"
type ActionSpec struct {
	// serviceAccountName is the service account in the namespace of the Action as which
	// pequod-actions reads and writes Secrets, and creates Jobs.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ServiceAccountName string `json:"serviceAccountName"`

	ActionExecutor `json:",inline"`

	// outputs are the values that a run publishes in status.outputs, as CEL expressions over
	// run: run.response of the executor http, run.outputs of the others, run.jobs and
	// run.artifacts of githubWorkflow and gitlabPipeline, and run.plan of terraform. All outputs
	// are at most 64 KiB.
	//
	// +kubebuilder:validation:MaxProperties=100
	Outputs map[string]ActionExpression `json:"outputs,omitempty"`
	// sensitiveOutputs are values of a run that are stored in a Secret and nowhere else. Their
	// expressions may also read run.sensitive, the sensitive outputs of terraform.
	SensitiveOutputs *SensitiveOutputs `json:"sensitiveOutputs,omitempty"`
	// trigger starts runs although nothing has changed.
	Trigger *ActionTrigger `json:"trigger,omitempty"`
	// check looks for drift while nothing runs.
	//
	// +kubebuilder:validation:XValidation:rule="[has(self.http), has(self.job), has(self.external), has(self.githubWorkflow), has(self.gitlabPipeline), has(self.terraform)].exists_one(x, x)",message="exactly one of http, job, external, githubWorkflow, gitlabPipeline and terraform is required"
	Check *ActionCheck `json:"check,omitempty"`
	// approval is None, the default, or Required: a run begins, or continues after its plan,
	// when the annotation pequod.io/approved-plan has the digest in status.plan.
	Approval Approval `json:"approval,omitempty"`
	// onChangeWhileRunning is Queue, the default, or Cancel: whether a change of the inputs
	// waits for the end of the run, or cancels it and waits for the end of the cancellation.
	OnChangeWhileRunning ChangePolicy `json:"onChangeWhileRunning,omitempty"`
	// retry limits the repetition of failed runs.
	Retry *ActionRetry `json:"retry,omitempty"`
	// timeout is the time after which a run is cancelled and failed, as a Go duration.
	// Defaults to 1h.
	Timeout Duration `json:"timeout,omitempty"`
	// destroy is the run that undoes the Action when it is deleted. Without it, a run that
	// is in progress is cancelled, and the Action goes.
	//
	// +kubebuilder:validation:XValidation:rule="[has(self.http), has(self.job), has(self.external), has(self.githubWorkflow), has(self.gitlabPipeline), has(self.terraform), has(self.skip) && self.skip].exists_one(x, x)",message="exactly one of http, job, external, githubWorkflow, gitlabPipeline, terraform and skip is required"
	Destroy *ActionDestroy `json:"destroy,omitempty"`
}

// ActionExecutor is one of the executors with its inputs. Strings may be late references
// {"$from": "CEL"} in a graph; the applier resolves them before the Action is written.
type ActionExecutor struct {
	// http sends a request to an HTTP API.
	HTTP *HTTPExecutor `json:"http,omitempty"`
	// job runs containers as a Kubernetes Job.
	Job *JobExecutor `json:"job,omitempty"`
	// external begins a run at a server of the executor protocol, docs/executors.md.
	External *ExternalExecutor `json:"external,omitempty"`
	// githubWorkflow dispatches a workflow of GitHub.
	GitHubWorkflow *GitHubWorkflow `json:"githubWorkflow,omitempty"`
	// gitlabPipeline creates a pipeline of GitLab.
	GitLabPipeline *GitLabPipeline `json:"gitlabPipeline,omitempty"`
	// terraform applies an OpenTofu configuration.
	Terraform *TerraformExecutor `json:"terraform,omitempty"`
}

// For returns the request of a check or a destroy, with what it takes over from that of the spec.
func (e ActionExecutor) For(spec ActionExecutor) ActionExecutor {
	e.GitHubWorkflow = e.GitHubWorkflow.For(spec.GitHubWorkflow)
	e.GitLabPipeline = e.GitLabPipeline.For(spec.GitLabPipeline)
	e.Terraform = e.Terraform.For(spec.Terraform)
	return e
}

// Name returns the name of the executor, or "".
func (e ActionExecutor) Name() string {
	switch {
	case e.HTTP != nil:
		return "http"
	case e.Job != nil:
		return "job"
	case e.External != nil:
		return "external"
	case e.GitHubWorkflow != nil:
		return "githubWorkflow"
	case e.GitLabPipeline != nil:
		return "gitlabPipeline"
	case e.Terraform != nil:
		return "terraform"
	}
	return ""
}

// ActionExpression is a CEL expression over run. run.key, run.attempt and run.previous, the
// outputs of the last run that succeeded, are always there.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=4096
type ActionExpression string

// Duration is a Go duration such as 90s or 1h30m.
//
// +kubebuilder:validation:MaxLength=32
// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
type Duration string

// ServerAuth has the credentials for a server.
type ServerAuth struct {
	// tokenSecretRef is the token that is sent as Authorization: Bearer.
	TokenSecretRef SecretKeyRef `json:"tokenSecretRef"`
}

// HTTPMethod is the method of a request.
//
// +kubebuilder:validation:Enum=GET;POST;PUT;PATCH;DELETE
type HTTPMethod string

// HTTPRequest is a request to an HTTP API.
//
// +kubebuilder:validation:XValidation:rule="has(self.url) || has(self.urlFrom)",message="url or urlFrom is required"
// +kubebuilder:validation:XValidation:rule="has(self.url) || !has(self.auth) && !has(self.headersSecretRef)",message="auth and headersSecretRef require url, whose host gets the credentials"
// +kubebuilder:validation:XValidation:rule="!has(self.headers) || self.headers.all(h, !(h.lowerAscii() in ['authorization', 'cookie', 'proxy-authorization', 'host', 'content-length', 'idempotency-key']))",message="credentials belong to auth or headersSecretRef; pequod-actions sets Host, Content-Length and Idempotency-Key"
type HTTPRequest struct {
	// method is GET, POST, PUT, PATCH or DELETE. Defaults to POST.
	Method HTTPMethod `json:"method,omitempty"`
	// url is the address. Its host must be one that pequod-actions may connect to.
	//
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^https?://[^/?#@]+`
	URL string `json:"url,omitempty"`
	// urlFrom is a CEL expression over run that yields the address. With auth or
	// headersSecretRef, url is required, too, and the address must be at its host.
	URLFrom ActionExpression `json:"urlFrom,omitempty"`
	// headers are sent in addition to those of the executor.
	//
	// +kubebuilder:validation:MaxProperties=32
	Headers map[string]HeaderValue `json:"headers,omitempty"`
	// headersSecretRef names a Secret; each of its keys is the name of a header that is
	// sent with the value.
	HeadersSecretRef *SecretRef `json:"headersSecretRef,omitempty"`
	// body is any JSON value, which is sent as application/json, or a string, which is sent
	// as it is.
	//
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Body *runtime.RawExtension `json:"body,omitempty"`
	// bodyFrom is a CEL expression over run that yields the body.
	BodyFrom ActionExpression `json:"bodyFrom,omitempty"`
	// auth has the credentials of the server. They are sent to the host of the address only.
	Auth *ServerAuth `json:"auth,omitempty"`
	// caBundle has the certificates of the authorities that the server's certificate may be
	// of, as PEM. Defaults to those of the system.
	//
	// +kubebuilder:validation:MaxLength=65536
	CABundle string `json:"caBundle,omitempty"`
	// expect is the response that means success.
	Expect *HTTPExpect `json:"expect,omitempty"`
}

// HeaderValue is the value of a header.
//
// +kubebuilder:validation:MaxLength=4096
// +kubebuilder:validation:Pattern=`^[^\r\n\x00]*$`
type HeaderValue string

// HTTPExpect describes responses that mean success.
type HTTPExpect struct {
	// status lists the codes that mean success. Defaults to 200, 201, 202 and 204.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:Minimum=200
	// +kubebuilder:validation:items:Maximum=599
	// +listType=atomic
	Status []int32 `json:"status,omitempty"`
}

// HTTPExecutor sends a request, and polls until the work that the request began has ended.
// The request has the header Idempotency-Key with the key of the run.
type HTTPExecutor struct {
	HTTPRequest `json:",inline"`

	// poll observes the work that the request began. Without it, a response 202 with the
	// header Location is polled until the code is another, and all other responses end the
	// run.
	Poll *HTTPPoll `json:"poll,omitempty"`
	// find looks for the run of a key after a crash, for servers that don't honour
	// Idempotency-Key. Without it, the request is sent again with the same key.
	Find *HTTPFind `json:"find,omitempty"`
	// cancel is the request that ends the work early.
	Cancel *HTTPCancel `json:"cancel,omitempty"`
	// repeat is Key, the default, or Never: whether a request without an answer is sent
	// again with the same Idempotency-Key, or the Action stalls until a reconciliation is
	// requested.
	Repeat HTTPRepeat `json:"repeat,omitempty"`
}

// HTTPPoll observes the work that a request began.
type HTTPPoll struct {
	// url is a CEL expression over run that yields the address. It is evaluated over the
	// response of the request.
	URL ActionExpression `json:"url"`
	// until is a CEL expression over run, which has the last response. The run has succeeded
	// when it yields true.
	Until ActionExpression `json:"until"`
	// failWhen is a CEL expression over run. The run has failed when it yields true.
	FailWhen ActionExpression `json:"failWhen,omitempty"`
	// every is the longest time between two requests. Defaults to 10s.
	Every Duration `json:"every,omitempty"`
}

// HTTPFind looks for the run of a key.
type HTTPFind struct {
	// url is a CEL expression over run that yields an address to get. A response 404 means
	// that there is no such run.
	URL ActionExpression `json:"url"`
	// foundWhen is a CEL expression over run. The response is that of the run when it yields
	// true. Defaults to true.
	FoundWhen ActionExpression `json:"foundWhen,omitempty"`
}

// HTTPCancel is the request that ends work early.
type HTTPCancel struct {
	// method is the method of the request. Defaults to POST.
	Method HTTPMethod `json:"method,omitempty"`
	// url is a CEL expression over run that yields the address.
	URL ActionExpression `json:"url"`
}

// HTTPRepeat is the treatment of a request without an answer.
//
// +kubebuilder:validation:Enum=Key;Never
type HTTPRepeat string

// The values of repeat.
const (
	HTTPRepeatKey   HTTPRepeat = "Key"
	HTTPRepeatNever HTTPRepeat = "Never"
)

// ExternalExecutor is a server of the executor protocol.
type ExternalExecutor struct {
	// url is the address of the server; /v1/runs/KEY is appended.
	//
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^https?://[^/?#@]+[^?#]*$`
	URL string `json:"url"`
	// inputs are the values that the run gets.
	//
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Inputs *runtime.RawExtension `json:"inputs,omitempty"`
	// auth has the credentials of the server.
	Auth *ServerAuth `json:"auth,omitempty"`
	// caBundle has the certificates of the authorities that the server's certificate may be
	// of, as PEM. Defaults to those of the system.
	//
	// +kubebuilder:validation:MaxLength=65536
	CABundle string `json:"caBundle,omitempty"`
}

// SensitiveOutputs are outputs that are stored in a Secret.
type SensitiveOutputs struct {
	// secretName is the name of the Secret, which the service account applies. The Action
	// owns it.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	SecretName string `json:"secretName"`
	// values are the keys of the Secret, with CEL expressions as those of outputs.
	//
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=100
	Values map[string]ActionExpression `json:"values"`
}

// ActionTrigger starts runs although nothing has changed.
type ActionTrigger struct {
	// every is the time between the end of a run and the next run.
	Every Duration `json:"every"`
}

// ActionCheck looks for drift with a run of its own.
type ActionCheck struct {
	ActionExecutor `json:",inline"`

	// every is the time between two checks.
	Every Duration `json:"every"`
	// driftWhen is a CEL expression over run of the check. There is drift when it yields
	// true.
	DriftWhen ActionExpression `json:"driftWhen"`
	// onDrift is Run, the default, or Report.
	OnDrift DriftReaction `json:"onDrift,omitempty"`
}

// DriftReaction is the reaction to drift that a check finds.
//
// +kubebuilder:validation:Enum=Run;Report
type DriftReaction string

// The reactions to drift.
const (
	// DriftRun runs the Action again.
	DriftRun DriftReaction = "Run"
	// DriftOnlyReport writes an Event and the status.
	DriftOnlyReport DriftReaction = "Report"
)

// Approval is None or Required.
//
// +kubebuilder:validation:Enum=None;Required
type Approval string

// The values of approval.
const (
	ApprovalNone     Approval = "None"
	ApprovalRequired Approval = "Required"
)

// ChangePolicy is the reaction to a change of the inputs during a run.
//
// +kubebuilder:validation:Enum=Queue;Cancel
type ChangePolicy string

// The change policies.
const (
	ChangeQueue  ChangePolicy = "Queue"
	ChangeCancel ChangePolicy = "Cancel"
)

// ActionRetry limits the repetition of failed runs.
type ActionRetry struct {
	// attempts is how often a failed run is repeated. Defaults to 8. Then the Action is
	// stalled until its inputs change or a reconciliation is requested.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	Attempts *int32 `json:"attempts,omitempty"`
	// initial is the time before the first repetition. Defaults to 1m.
	Initial Duration `json:"initial,omitempty"`
	// factor multiplies that time after each failure. Defaults to 2.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10
	Factor int32 `json:"factor,omitempty"`
	// max limits that time. Defaults to 1024m.
	Max Duration `json:"max,omitempty"`
}

// ActionDestroy undoes an Action that is deleted.
type ActionDestroy struct {
	ActionExecutor `json:",inline"`

	// skip lets the Action go without cancelling or undoing anything.
	Skip bool `json:"skip,omitempty"`
}

// JobExecutor runs containers as a Job in the namespace of the Action. The service account of the
// Action creates, reads and deletes the Job, and lists its Pods.
type JobExecutor struct {
	// template is the Pod template of the Job, as spec.template of a Job: metadata.labels,
	// metadata.annotations and spec. restartPolicy defaults to Never, serviceAccountName to
	// that of the Action, and the security contexts to those of the Pod security standard
	// restricted.
	//
	// Each container has the variables PEQUOD_RUN, the key of the run, PEQUOD_PURPOSE, which
	// is Apply, Check or Destroy, and PEQUOD_PREVIOUS, the outputs of the last run that
	// succeeded, as JSON. The termination message of the first container, if it is a JSON object, is run.outputs,
	// and as a string run.message.
	//
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Template runtime.RawExtension `json:"template"`
	// backoffLimit is how often the Job repeats a Pod that failed. Defaults to 0: the retry
	// of the Action repeats failed runs.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	BackoffLimit *int32 `json:"backoffLimit,omitempty"`
}

// SecretKeyRef is one key of a Secret in the namespace of the object.
type SecretKeyRef struct {
	// name is the name of the Secret.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// key is the key in the data of the Secret.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key"`
}

// SecretRef is a Secret in the namespace of the object.
type SecretRef struct {
	// name is the name of the Secret.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}
