package engine

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/reference"
	"github.com/pequod-io/pequod/applier/fields"
	"github.com/pequod-io/pequod/applier/resolve"
	"github.com/pequod-io/pequod/inventory"
)

// Verb says what an action does.
type Verb string

// The verbs.
const (
	// Survey reads every object of the graph and of its inventory, once, in as
	// few requests as can be.
	Survey Verb = "Survey"
	// Read reads one object.
	Read Verb = "Read"
	// Record stores the inventory.
	Record Verb = "Record"
	// Apply makes an object as wanted.
	Apply Verb = "Apply"
	// Delete removes an object.
	Delete Verb = "Delete"
	// Release leaves an object to others: without the graph's labels and
	// without the fields that it held; or to another graph, with both.
	Release Verb = "Release"
	// LoadClaims asks which objects other graphs list.
	LoadClaims Verb = "Others"
	// Compare asks which fields of an object differ from what is to be applied,
	// and who holds them.
	Compare Verb = "Compare"
	// Explain asks why an object isn't ready.
	Explain Verb = "Explain"
)

// Action is one thing to be done by the driver, who answers with [Engine.Done].
type Action struct {
	Verb Verb
	// Key and Version name the object of all but Survey, Record and Others.
	Key     inventory.Key
	Version string
	// Node is the id of the node that the action is for, "" for an object that
	// left the graph.
	Node string

	// Targets are the objects of a Survey.
	Targets []Target
	// Inventory is what to Record; without entries the record is to be removed.
	Inventory *inventory.Inventory
	// Apply says how to apply.
	Apply *ApplyRequest
	// UID is the object to Delete or Release: another of the same name is left
	// alone. ResourceVersion is that of the object as it was judged: one that
	// was changed since may have become another graph's.
	UID             types.UID
	ResourceVersion string
	// NewOwner is the graph that an object is released to, nil for nobody.
	NewOwner *inventory.Owner
	// Object is the live object to Explain.
	Object *unstructured.Unstructured

	was *observed // what was known of the object when the action was asked for
}

// Target is an object that a Survey looks for.
type Target struct {
	inventory.Key
	Version string
	// Labeled says that the object is expected to carry the graph's labels.
	Labeled bool
}

// ApplyRequest says what to apply and under which conditions.
type ApplyRequest struct {
	// Object is the object as wanted, with references resolved.
	Object map[string]any
	// Generates are the values of Object to be made up.
	Generates []reference.Generate
	// Unknown are the parts that are left out of Object because they are known
	// after the apply; only with Options.Preview.
	Unknown []resolve.Unknown
	Manager string
	// UID is the object that was seen, "" if there was none: then the object
	// must be created, and one that appeared in between is left alone.
	UID types.UID
	// Version is the resourceVersion of the object that was seen.
	Version string
	// Force takes fields from whoever holds them.
	Force bool
	// Adopt moves the fields of other appliers (kubectl, Helm, the original
	// operator) to Manager first, so that those that aren't wanted go away.
	Adopt bool
	// Ignore are fields that are left as they are in an object that exists.
	Ignore []fields.Path
	// HandOverReplicas says that Manager holds spec.replicas and wants it no more: it
	// keeps its value until an autoscaler takes it.
	HandOverReplicas bool
	// Drift says that the object was applied as it is wanted and was changed since.
	Drift bool
}

// Outcome is what came of an action.
type Outcome struct {
	// Err is nil, a [*Failure], or an error that is worth another try.
	Err error
	// Object is the live object after Apply and Read, nil if there is none.
	Object *unstructured.Unstructured
	// Created and Changed say what an Apply did.
	Created, Changed bool
	// Taken are the fields that an Apply took from others, or would have: that is
	// the answer to Compare.
	Taken []Conflict
	// Objects are what a Survey found; Unseen are the targets of which it
	// couldn't tell, and why.
	Objects    []*unstructured.Unstructured
	Unreadable map[inventory.Key]error
	// Claims are the objects that other graphs list.
	Claims inventory.Claims
	// Message is an explanation.
	Message string
	// Saved is the inventory as it was recorded.
	Saved *inventory.Inventory
}

// Conflict is a field that another manager holds.
type Conflict struct {
	// Field is a path such as spec.template.spec.containers[name="web"].image.
	Field   string
	Manager string
	// Subresource is what the manager came by the field through, mostly none.
	Subresource string
}

// Failure is an error with what is known about its cure.
type Failure struct {
	// Reason is one word in CamelCase, fit for a condition or an Event.
	Reason string
	// Message says what happened, without naming the object.
	Message string
	// Terminal errors come back until somebody changes something.
	Terminal bool
	// Immutable says that the object would have to be made anew.
	Immutable bool
	// RetryAfter is when the server wants to be asked again, 0 if it didn't say.
	RetryAfter time.Duration
	// Conflicts are the fields of a Conflict.
	Conflicts []Conflict
}

func (f *Failure) Error() string { return f.Message }

// The reasons of failures.
const (
	ReasonConflict             = "Conflict"
	ReasonAdoptionRequired     = "AdoptionRequired"
	ReasonOwnedElsewhere       = "OwnedElsewhere"
	ReasonReference            = "ReferenceFailed"
	ReasonReadinessTimeout     = "ReadinessTimeout"
	ReasonNotReady             = "ReadinessFailed"
	ReasonUnknownKind          = "UnknownKind"
	ReasonForbidden            = "Forbidden"
	ReasonDenied               = "Denied"
	ReasonInvalid              = "Invalid"
	ReasonImmutable            = "Immutable"
	ReasonQuotaExceeded        = "QuotaExceeded"
	ReasonNamespaceTerminating = "NamespaceTerminating"
	ReasonWebhookFailed        = "WebhookFailed"
	// ReasonExists is of an apply that was to create an object.
	ReasonExists       = "AlreadyExists"
	ReasonApplyFailed  = "ApplyFailed"
	ReasonDeleteFailed = "DeleteFailed"
)
