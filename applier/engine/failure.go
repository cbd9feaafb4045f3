package engine

import (
	"errors"
	"time"

	"github.com/pequod-io/pequod/api/graph"
)

// Failure is an error of one object, classified by how it can be resolved.
type Failure struct {
	// Reason is one of the Reason constants: a CamelCase word for conditions and
	// Events.
	Reason string
	// Message describes the failure without naming the object, in the words of whoever
	// refused it. Cure tells the user what to do, "" if that is part of the message.
	Message, Cure string
	// Terminal failures recur until a user changes something. A graph that has no other
	// failures is not executed any further.
	Terminal bool
	// Immutable is set if the change needs the object to be deleted and recreated.
	Immutable bool
	// RetryAfter is the delay that the server asked for, 0 if it didn't.
	RetryAfter time.Duration
	// Conflicts are the fields of a failure with ReasonConflict.
	Conflicts []Conflict
}

// lasts reports whether nothing but a change of the graph ends the failure. Rights may also
// come while other nodes progress.
func (f *Failure) lasts() bool { return f.Terminal && f.Reason != ReasonForbidden }

// Error returns the message with the cure.
func (f *Failure) Error() string {
	if f.Cure == "" {
		return f.Message
	}
	return f.Message + "; " + f.Cure
}

// The reasons of failures.
const (
	ReasonConflict         = "Conflict"
	ReasonAdoptionRequired = "AdoptionRequired"
	ReasonOwnedElsewhere   = "OwnedElsewhere"
	ReasonReference        = "ReferenceFailed"
	ReasonOverBudget       = "OverBudget"
	ReasonReadinessTimeout = "ReadinessTimeout"
	ReasonNotReady         = "ReadinessFailed"
	// ReasonDegraded is the reason of nodes in the phase Degraded. They may become ready
	// without a change.
	ReasonDegraded    = "Degraded"
	ReasonUnknownKind = "UnknownKind"
	ReasonForbidden   = "Forbidden"
	// ReasonKindUnavailable means that objects of the kind may exist and can't be
	// requested now: its API group can't be discovered, or no version is served.
	ReasonKindUnavailable      = "KindUnavailable"
	ReasonDenied               = "Denied"
	ReasonInvalid              = "Invalid"
	ReasonImmutable            = "Immutable"
	ReasonQuotaExceeded        = "QuotaExceeded"
	ReasonNamespaceTerminating = "NamespaceTerminating"
	ReasonWebhookFailed        = "WebhookFailed"
	// ReasonScopeChanged means that the kind of a node's object has another scope than
	// when the engine was made. Only another engine can continue.
	ReasonScopeChanged = "ScopeChanged"
	// ReasonExists means that an object to be created exists already.
	ReasonExists = "AlreadyExists"
	// ReasonClaimRefused means that an object can't be handed over to a graph that
	// lists it, because that graph isn't executed or may not write the object. The
	// claim of that graph then doesn't count.
	ReasonClaimRefused = "ClaimRefused"
	// ReasonKept is the reason why an object that left the graph was released: an
	// annotation or label forbids its deletion. It is no failure.
	ReasonKept = "KeptByAnnotation"
	// ReasonKeepChanged means that an object wasn't deleted, or not released for
	// ReasonKept, because it got or lost that annotation since it was observed.
	ReasonKeepChanged = "KeepChanged"
	// ReasonOwnerMissing means that no owner of an object exists, so that the garbage
	// collector deletes the object whenever it is created.
	ReasonOwnerMissing = "OwnerMissing"
	// ReasonApplyFailed is every failure without a reason of its own. It is
	// transient: an overloaded or unreachable API server, for example.
	ReasonApplyFailed  = "ApplyFailed"
	ReasonDeleteFailed = "DeleteFailed"
)

// Conflict is a field that another field manager owns.
type Conflict struct {
	// Field is a path such as spec.template.spec.containers[name="web"].image.
	Field   string
	Manager string
	// Subresource is the subresource through which the manager wrote the field,
	// usually "".
	Subresource string
}

// InvalidError lists the problems of a graph that can't be executed.
type InvalidError struct{ Problems []graph.Problem }

// Error returns one problem per line.
func (e *InvalidError) Error() string {
	errs := make([]error, len(e.Problems))
	for i, p := range e.Problems {
		errs[i] = errors.New(p.String())
	}
	return errors.Join(errs...).Error()
}

// ErrEmpty rejects a graph without nodes whose inventory isn't empty: the apply
// would prune every object. Options.AllowEmpty permits it.
var ErrEmpty = errors.New("the graph has no nodes: applying it would remove every object that it owns")
