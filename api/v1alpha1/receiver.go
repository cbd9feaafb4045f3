package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Receiver takes messages from outside of the cluster, and lets each of them have an effect in
// its namespace: objects are reconciled, applied or deleted, or Actions look at their runs. pequod-actions
// executes Receivers. A message is acknowledged only after its effects are stored by the API server.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=pequod
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Path",type=string,priority=1,JSONPath=`.status.webhookPath`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Receiver struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says where messages come from, and what they do.
	Spec ReceiverSpec `json:"spec"`
	// status is the observed state, written by pequod-actions. Until pequod-actions has seen
	// the Receiver, observedGeneration is -1, and the condition Ready is Unknown with the
	// reason WaitingForActions.
	//
	// +kubebuilder:default:={"observedGeneration":-1,"conditions":{{"type":"Ready","status":"Unknown","reason":"WaitingForActions","message":"no pequod-actions has seen the Receiver","lastTransitionTime":"1970-01-01T00:00:00Z"}}}
	Status ReceiverStatus `json:"status,omitzero"`
}

// ReceiverList is a list of Receivers.
//
// +kubebuilder:object:root=true
type ReceiverList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Receiver `json:"items"`
}

// ReceiverSpec describes the messages of a Receiver and their effects.
type ReceiverSpec struct {
	// serviceAccountName is the service account in the namespace of the Receiver as which
	// pequod-actions reads Secrets and writes objects.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ServiceAccountName string `json:"serviceAccountName"`
	// source is where messages come from.
	Source ReceiverSource `json:"source"`
	// filter is a CEL expression. A message has effects only if it yields true. A message
	// without an effect is acknowledged.
	Filter ReceiverExpression `json:"filter,omitempty"`
	// dedupe recognizes messages that are delivered again.
	Dedupe *ReceiverDedupe `json:"dedupe,omitempty"`
	// replay refuses messages that are too old.
	Replay *ReceiverReplay `json:"replay,omitempty"`
	// do lists the effects of a message, in their order. If one can't be had, those after it
	// wait for the next delivery of the message.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	Do []ReceiverEffect `json:"do"`
}

// ReceiverExpression is a CEL expression over a message: headers, by their names in lower case,
// body, which is the JSON value of the body or a string, id, the sender's name of the message or
// "", and digest, the SHA-256 of the body. Headers with credentials and signatures are left out.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=4096
type ReceiverExpression string

// ReceiverSource is where messages come from.
//
// +kubebuilder:validation:XValidation:rule="[has(self.webhook), has(self.poll), has(self.amqp), has(self.sqs)].exists_one(x, x)",message="exactly one of webhook, poll, amqp and sqs is required"
type ReceiverSource struct {
	// webhook receives requests at the path in status.webhookPath.
	Webhook *WebhookSource `json:"webhook,omitempty"`
	// poll requests an address again and again. Each new item of its response is a message.
	Poll *PollSource `json:"poll,omitempty"`
	// amqp consumes a queue of an AMQP 0.9.1 broker, such as RabbitMQ.
	AMQP *AMQPSource `json:"amqp,omitempty"`
	// sqs consumes a queue of Amazon SQS, or of a server with the same protocol.
	SQS *SQSSource `json:"sqs,omitempty"`
}

// Name returns the name of the source, or "".
func (s ReceiverSource) Name() string {
	switch {
	case s.Webhook != nil:
		return "webhook"
	case s.Poll != nil:
		return "poll"
	case s.AMQP != nil:
		return "amqp"
	case s.SQS != nil:
		return "sqs"
	}
	return ""
}

// PollSource requests an address again and again, with the ETag and the time of the last response.
type PollSource struct {
	// url is the address of a JSON document. Its host must be one that pequod-actions may
	// connect to.
	//
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^https?://[^/?#@]+`
	URL string `json:"url"`
	// every is the time between two requests, at least 10s. Defaults to 1m.
	Every Duration `json:"every,omitempty"`
	// items is a CEL expression over body, the response, that yields a list of at most 500
	// items. Without it, the response is the only item.
	Items ReceiverExpression `json:"items,omitempty"`
	// key is a CEL expression over item that yields the string that identifies it. Defaults to
	// the digest of the item.
	Key ReceiverExpression `json:"key,omitempty"`
	// auth has the credentials of the server.
	Auth *ServerAuth `json:"auth,omitempty"`
	// caBundle has the certificates of the authorities that the server's certificate may be
	// of, as PEM. Defaults to those of the system.
	//
	// +kubebuilder:validation:MaxLength=65536
	CABundle string `json:"caBundle,omitempty"`
	// attempts is how often an item may fail until it goes to status.deadLetters. Defaults
	// to 5. Errors of the API server don't count.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Attempts *int32 `json:"attempts,omitempty"`
}

// AMQPSource consumes a queue, which must exist. Its messages keep their order.
type AMQPSource struct {
	// urlSecretRef has the address of the broker, amqps://USER:PASSWORD@HOST:PORT/VHOST. Its host
	// must be one that pequod-actions may connect to; amqp: requires http://HOST there.
	URLSecretRef SecretKeyRef `json:"urlSecretRef"`
	// queue is the name of the queue.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Queue string `json:"queue"`
	// deadLetterQueue is the name of the queue of messages that are refused, or have failed too
	// often. Without it, such a message is repeated, and those behind it wait.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	DeadLetterQueue string `json:"deadLetterQueue,omitempty"`
	// attempts is how often a message may fail until it goes to the dead letter queue. Defaults
	// to 5. Errors of the API server don't count.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Attempts *int32 `json:"attempts,omitempty"`
}

// SQSSource consumes a queue. The redrive policy of the queue says how often a message may fail,
// and where it goes then.
type SQSSource struct {
	// queueURL is the address of the queue. Its host must be one that pequod-actions may connect
	// to.
	//
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^https?://[^/?#@]+/[^?#]+$`
	QueueURL string `json:"queueURL"`
	// region is the region of the queue.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Region string `json:"region"`
	// credentialsSecretRef names a Secret with the keys accessKeyID and secretAccessKey, and
	// sessionToken for temporary credentials.
	CredentialsSecretRef SecretRef `json:"credentialsSecretRef"`
	// caBundle has the certificates of the authorities that the server's certificate may be
	// of, as PEM. Defaults to those of the system.
	//
	// +kubebuilder:validation:MaxLength=65536
	CABundle string `json:"caBundle,omitempty"`
}

// WebhookType is the kind of sender of a webhook, which defines how requests are verified.
//
//   - generic, cdevents, dockerhub, quay and acr senders prove that they know the path, which is
//     secret, and nothing else.
//   - generic-hmac senders send X-Signature: sha256=HEX, the HMAC of the body with the token.
//     sha384 and sha512 are accepted, and sha1 is not.
//   - github and bitbucket senders send the same as X-Hub-Signature-256 and X-Hub-Signature.
//   - gitlab senders send the token as X-Gitlab-Token, harbor senders as Authorization, and bearer
//     senders as Authorization: Bearer.
//
// +kubebuilder:validation:Enum=generic;generic-hmac;bearer;github;gitlab;bitbucket;harbor;dockerhub;quay;acr;cdevents
type WebhookType string

// The kinds of senders.
const (
	WebhookGeneric     WebhookType = "generic"
	WebhookGenericHMAC WebhookType = "generic-hmac"
	WebhookBearer      WebhookType = "bearer"
	WebhookGitHub      WebhookType = "github"
	WebhookGitLab      WebhookType = "gitlab"
	WebhookBitbucket   WebhookType = "bitbucket"
	WebhookHarbor      WebhookType = "harbor"
	WebhookDockerHub   WebhookType = "dockerhub"
	WebhookQuay        WebhookType = "quay"
	WebhookACR         WebhookType = "acr"
	WebhookCDEvents    WebhookType = "cdevents"
)

// WebhookSource receives HTTP requests.
//
// +kubebuilder:validation:XValidation:rule="!has(self.events) || self.type in ['github', 'gitlab', 'bitbucket', 'cdevents']",message="events requires the type github, gitlab, bitbucket or cdevents"
type WebhookSource struct {
	// type is the kind of sender.
	Type WebhookType `json:"type"`
	// secretRef names a Secret; its key token has the token that the sender knows, of at least
	// 16 bytes. The path in status.webhookPath is derived from it.
	SecretRef SecretRef `json:"secretRef"`
	// events are the names of events that have effects, in the header X-GitHub-Event,
	// X-Gitlab-Event, X-Event-Key or Ce-Type. Others are acknowledged. Defaults to all.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MaxLength=256
	// +listType=atomic
	Events []string `json:"events,omitempty"`
}

// ReceiverDedupe recognizes messages that are delivered again. What was done for a message is
// stored in the annotation pequod.io/received of the object, in the same write as the effect.
type ReceiverDedupe struct {
	// key is a CEL expression that yields the string that identifies a message. Defaults to
	// id; a message without an id is always a new one.
	Key ReceiverExpression `json:"key,omitempty"`
	// keep is how long a message is remembered. Defaults to 24h. Each object remembers the last
	// 100 messages.
	Keep Duration `json:"keep,omitempty"`
}

// ReceiverReplay refuses messages that are too old, so that a message that somebody has recorded
// is of no use.
type ReceiverReplay struct {
	// timestamp is a CEL expression that yields the time at which the message was made, as
	// RFC 3339 or in seconds since 1970. Take it from the body if the sender signs the body.
	Timestamp ReceiverExpression `json:"timestamp"`
	// window is how far the time may be from now, in both directions. Defaults to 5m.
	Window Duration `json:"window,omitempty"`
}

// ReceiverEffect is one effect of a message.
//
// +kubebuilder:validation:XValidation:rule="[has(self.reconcile), has(self.observe), has(self.apply), has(self.delete)].exists_one(x, x)",message="exactly one of reconcile, observe, apply and delete is required"
type ReceiverEffect struct {
	// reconcile requests a reconciliation of objects. An Action runs again.
	Reconcile *ReceiverReconcile `json:"reconcile,omitempty"`
	// observe has Actions look at their open run at once, instead of at the next poll. It
	// starts no run.
	Observe *ReceiverTarget `json:"observe,omitempty"`
	// apply creates or changes an object by server-side apply.
	Apply *ReceiverApply `json:"apply,omitempty"`
	// delete deletes an object.
	Delete *ReceiverDelete `json:"delete,omitempty"`
}

// ReceiverApply applies an object in the namespace of the Receiver.
type ReceiverApply struct {
	// object is a CEL expression that yields the object: apiVersion, kind, metadata with name,
	// labels and annotations, and the rest. Its kind must be listed in --receiver-kinds of
	// pequod-actions. Fields that others manage are conflicts.
	Object ReceiverExpression `json:"object"`
}

// ReceiverDelete deletes an object in the namespace of the Receiver. The message names the UID of the
// object or a time, so that a message that is delivered again, after another object with the name has
// been created, doesn't delete that one.
//
// +kubebuilder:validation:XValidation:rule="has(self.uid) || has(self.before)",message="uid or before is required: a message that is delivered again must not delete a newer object"
type ReceiverDelete struct {
	// object is a CEL expression that yields apiVersion, kind and metadata.name of the object. Its
	// kind must be listed in --receiver-kinds of pequod-actions.
	Object ReceiverExpression `json:"object"`
	// uid is a CEL expression that yields the UID of the object. If the object has another one, it
	// stays: the object that the message is about is gone.
	UID ReceiverExpression `json:"uid,omitempty"`
	// before is a CEL expression that yields the time at which the message was made, as RFC 3339 or
	// in seconds since 1970. An object that was created in that second or later stays.
	Before ReceiverExpression `json:"before,omitempty"`
}

// ReceiverReconcile requests a reconciliation of objects in the namespace of the Receiver.
type ReceiverReconcile struct {
	ReceiverTarget `json:",inline"`

	// apiVersion is that of the kind. Defaults to platform.pequod.io/v1alpha1.
	//
	// +kubebuilder:validation:MaxLength=253
	APIVersion string `json:"apiVersion,omitempty"`
	// kind is Action, ResourceGraph, Transform, a kind of Flux, or a kind that
	// pequod-actions is allowed to change by --receiver-kinds, such as that of an instance.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
}

// ReceiverTarget selects objects in the namespace of the Receiver.
//
// +kubebuilder:validation:XValidation:rule="[has(self.name), has(self.selector)].exists_one(x, x)",message="exactly one of name and selector is required"
type ReceiverTarget struct {
	// name is the name of one object.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
	// selector selects objects by their labels. {} selects all. At most 500 objects.
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// when is a CEL expression over the message and object. An object is left out unless it
	// yields true.
	When ReceiverExpression `json:"when,omitempty"`
}

// ReceiverStatus is the observed state of a Receiver.
type ReceiverStatus struct {
	// observedGeneration is the generation that the status describes. It is -1 until
	// pequod-actions has seen the Receiver.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// reconcileRequestedAt is the value of the annotation
	// pequod.io/reconcile-requested-at or reconcile.fluxcd.io/requestedAt that was
	// handled last.
	//
	// +kubebuilder:validation:MaxLength=256
	ReconcileRequestedAt string `json:"reconcileRequestedAt,omitempty"`
	// webhookPath is the path of the webhook. It is secret: it changes with the token.
	//
	// +kubebuilder:validation:MaxLength=128
	WebhookPath string `json:"webhookPath,omitempty"`
	// poll is the state of the source poll.
	Poll *PollStatus `json:"poll,omitempty"`
	// deadLetters are the last messages that were given up, newest first.
	//
	// +kubebuilder:validation:MaxItems=10
	// +listType=atomic
	DeadLetters []DeadLetter `json:"deadLetters,omitempty"`
	// conditions are Ready, Reconciling and Stalled, with the meaning that kstatus defines.
	// Reconciling and Stalled are only present while they are true.
	//
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// PollStatus is what is known about earlier polls, so that a restart repeats nothing.
type PollStatus struct {
	// feed is a digest of the address, that the rest is about.
	//
	// +kubebuilder:validation:MaxLength=64
	Feed string `json:"feed"`
	// etag is that of the last response.
	//
	// +kubebuilder:validation:MaxLength=1024
	ETag string `json:"etag,omitempty"`
	// lastModified is that of the last response.
	//
	// +kubebuilder:validation:MaxLength=1024
	LastModified string `json:"lastModified,omitempty"`
	// done are digests of the items of the last response that are done.
	//
	// +kubebuilder:validation:MaxItems=500
	// +kubebuilder:validation:items:MaxLength=64
	// +listType=atomic
	Done []string `json:"done,omitempty"`
}

// DeadLetter is a message that was given up.
type DeadLetter struct {
	// at is the time at which it was given up.
	At metav1.Time `json:"at"`
	// id is the sender's name of the message.
	//
	// +kubebuilder:validation:MaxLength=256
	ID string `json:"id,omitempty"`
	// digest is the SHA-256 of its body.
	//
	// +kubebuilder:validation:MaxLength=64
	Digest string `json:"digest"`
	// message is the last error.
	//
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message"`
}
