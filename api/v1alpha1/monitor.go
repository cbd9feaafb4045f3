package v1alpha1

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Monitor reads the state of an application at an interval, from Pods, a Service, an address or
// an object of the cluster, and reacts when rules about the state begin or cease to hold. It is
// ready while every target was read and no rule of the severity Error holds, so a graph that has
// a Monitor as externalRef waits for the application. pequod-actions executes Monitors.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=pequod
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Targets",type=integer,JSONPath=`.status.targetCount`
// +kubebuilder:printcolumn:name="Changed",type=date,JSONPath=`.status.changedAt`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Monitor struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec has what is read, and the rules about it.
	Spec MonitorSpec `json:"spec"`
	// status is the observed state, written by pequod-actions. Until pequod-actions has seen
	// the Monitor, observedGeneration is -1, and the condition Ready is Unknown with the reason
	// WaitingForActions.
	//
	// +kubebuilder:default:={"observedGeneration":-1,"conditions":{{"type":"Ready","status":"Unknown","reason":"WaitingForActions","message":"no pequod-actions has seen the Monitor","lastTransitionTime":"1970-01-01T00:00:00Z"}}}
	Status MonitorStatus `json:"status,omitzero"`
}

// MonitorList is a list of Monitors.
//
// +kubebuilder:object:root=true
type MonitorList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Monitor `json:"items"`
}

// MonitorSpec describes what a Monitor reads, and how it reacts.
//
// +kubebuilder:validation:XValidation:rule="has(self.target) != has(self.probe.object)",message="target is required, unless probe.object names what is read"
// +kubebuilder:validation:XValidation:rule="!has(self.interval) || duration(self.interval) >= duration('1s')",message="interval must be at least 1s"
// +kubebuilder:validation:XValidation:rule="!has(self.timeout) || duration(self.timeout) >= duration('1ms') && duration(self.timeout) <= duration('30s')",message="timeout must be between 1ms and 30s"
type MonitorSpec struct {
	// serviceAccountName is the service account in the namespace of the Monitor as which
	// pequod-actions reads Pods, objects and Secrets, and reacts.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ServiceAccountName string `json:"serviceAccountName"`
	// target is where the probe is sent: exactly one of pods, service and url.
	Target *MonitorTarget `json:"target,omitempty"`
	// probe is how the state is read: exactly one of graphql, http and object.
	Probe MonitorProbe `json:"probe"`
	// interval is the time between two polls of a target, as a Go duration of at least 1s.
	// Each poll is up to 10 % earlier or later, so that Monitors don't poll in step. Defaults
	// to 30s.
	Interval Duration `json:"interval,omitempty"`
	// timeout limits one poll, as a Go duration of at most 30s. Defaults to 5s.
	Timeout Duration `json:"timeout,omitempty"`
	// state is a CEL expression that yields what the rules are about and what is compared for
	// changes, at most 16 KiB. It reads data of the probe graphql, response of the probe http
	// (response.status, response.headers, response.body), and object of the probe object.
	// Defaults to data, response.status and object.status.
	State MonitorExpression `json:"state,omitempty"`
	// rules are evaluated after each poll, for each target.
	//
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=name
	Rules []MonitorRule `json:"rules,omitempty"`
	// dryRun evaluates the rules and reports what they would do, and does nothing.
	DryRun bool `json:"dryRun,omitempty"`
}

// MonitorExpression is a CEL expression.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=4096
type MonitorExpression string

// MonitorTarget is where probes are sent.
//
// +kubebuilder:validation:XValidation:rule="[has(self.pods), has(self.service), has(self.url)].exists_one(x, x)",message="exactly one of pods, service and url is required"
type MonitorTarget struct {
	// pods are Pods in the namespace of the Monitor. Pods in the network of their node are
	// not read.
	Pods *MonitorPods `json:"pods,omitempty"`
	// service is a Service in the namespace of the Monitor. One ready Pod of its selector is
	// read. A Service without a selector is refused.
	Service *MonitorService `json:"service,omitempty"`
	// url is an address, without the path. Its host must be one that pequod-actions may
	// connect to.
	//
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^https?://[^/?#@]+/?$`
	URL string `json:"url,omitempty"`
	// caBundle has the certificates of the authorities that the server's certificate may be
	// of, as PEM. Defaults to those of the system.
	//
	// +kubebuilder:validation:MaxLength=65536
	CABundle string `json:"caBundle,omitempty"`
	// serverName is the name in the certificates of Pods, whose addresses are in none.
	//
	// +kubebuilder:validation:MaxLength=253
	ServerName string `json:"serverName,omitempty"`
}

// MonitorPods are the Pods of a selector.
type MonitorPods struct {
	// selector selects the Pods. An empty selector is refused, because it selects all Pods of
	// the namespace.
	//
	// +kubebuilder:validation:XValidation:rule="(has(self.matchLabels) && size(self.matchLabels) > 0) || (has(self.matchExpressions) && size(self.matchExpressions) > 0)",message="an empty selector would select all Pods"
	Selector metav1.LabelSelector `json:"selector"`
	// port is the port of the Pods.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port"`
	// scheme is HTTP, the default, or HTTPS.
	Scheme MonitorScheme `json:"scheme,omitempty"`
	// read is Each, the default, or AnyReady: whether each Pod that runs is a target of its
	// own, at most 100, or one Pod that is ready stands for all.
	Read MonitorRead `json:"read,omitempty"`
}

// MonitorService is a port of a Service.
type MonitorService struct {
	// name is the name of the Service.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// port is a port of the Service. The Pods are read at its target port.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port"`
	// scheme is HTTP, the default, or HTTPS.
	Scheme MonitorScheme `json:"scheme,omitempty"`
}

// MonitorScheme is HTTP or HTTPS.
//
// +kubebuilder:validation:Enum=HTTP;HTTPS
type MonitorScheme string

// MonitorHTTPS is HTTP with TLS.
const MonitorHTTPS MonitorScheme = "HTTPS"

// MonitorRead is how Pods are read.
//
// +kubebuilder:validation:Enum=Each;AnyReady
type MonitorRead string

// MonitorAnyReady reads one Pod that is ready.
const MonitorAnyReady MonitorRead = "AnyReady"

// MonitorProbe is how the state is read.
//
// +kubebuilder:validation:XValidation:rule="[has(self.graphql), has(self.http), has(self.object)].exists_one(x, x)",message="exactly one of graphql, http and object is required"
type MonitorProbe struct {
	// graphql sends a query, as a POST request.
	GraphQL *GraphQLProbe `json:"graphql,omitempty"`
	// http sends a request.
	HTTP *HTTPProbe `json:"http,omitempty"`
	// object watches an object in the namespace of the Monitor. It is not polled.
	Object *ObjectProbe `json:"object,omitempty"`
}

// ProbePath is the path of a request, with its query.
//
// +kubebuilder:validation:MaxLength=2048
// +kubebuilder:validation:Pattern=`^/[^\s#]*$`
type ProbePath string

// GraphQLProbe sends a query to a GraphQL server. Answers with errors count as failed, also if
// they have data, too.
type GraphQLProbe struct {
	// path is the path of the endpoint. Defaults to /graphql.
	Path ProbePath `json:"path,omitempty"`
	// query is one GraphQL query. Mutations and subscriptions are refused.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=16384
	// +kubebuilder:validation:XValidation:rule="!self.matches('^\\\\s*(mutation|subscription)\\\\b')",message="mutations and subscriptions are refused"
	Query string `json:"query"`
	// variables are the values of the variables of the query.
	//
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Variables *RawObject `json:"variables,omitempty"`
	// headersSecretRef names a Secret; each of its keys is the name of a header that is sent
	// with the value.
	HeadersSecretRef *SecretRef `json:"headersSecretRef,omitempty"`
}

// HTTPProbe sends a request without a body.
type HTTPProbe struct {
	// path is the path of the request. Defaults to /.
	Path ProbePath `json:"path,omitempty"`
	// method is GET, the default, or HEAD.
	//
	// +kubebuilder:validation:Enum=GET;HEAD
	Method string `json:"method,omitempty"`
	// expect lists the status codes of successful polls. Defaults to 200. A poll with another
	// code has failed.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:Minimum=100
	// +kubebuilder:validation:items:Maximum=599
	// +listType=atomic
	Expect []int32 `json:"expect,omitempty"`
	// headersSecretRef names a Secret; each of its keys is the name of a header that is sent
	// with the value.
	HeadersSecretRef *SecretRef `json:"headersSecretRef,omitempty"`
}

// Expects reports whether a status code is that of a successful poll.
func (p *HTTPProbe) Expects(status int) bool {
	if len(p.Expect) == 0 {
		return status == 200
	}
	return slices.Contains(p.Expect, int32(status))
}

// ObjectProbe names an object in the namespace of the Monitor. Secrets are refused.
//
// +kubebuilder:validation:XValidation:rule="self.kind != 'Secret'",message="Secrets are not read"
type ObjectProbe struct {
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
}
