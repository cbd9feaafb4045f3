// Package executor is the interface between the controller of Actions and what runs: an
// [Executor] begins, finds, observes and cancels runs at one kind of server. Its folders are
// the executors.
//
// An executor keeps nothing about a run between two calls. Everything that it needs to go on is in
// the [Run], which the controller records in the status of the Action. Errors are of the type
// [*Error], and classify what is known about the request. Any other error means that its
// outcome is unknown.
package executor

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// Executor executes runs at one kind of server. Its methods may be called concurrently.
type Executor interface {
	// Check returns the errors of a request that can be found without a server.
	Check(request v1alpha1.ActionExecutor) []error
	// Find looks for a run that was recorded, and may have begun. It returns nil if there is
	// none, and [ErrUnknown] if it can't find out. An error of the class Lost means that it
	// can't be found out later either, and that the run must not begin again. A run is found by
	// its key, by every process that knows it, as soon as Begin may have had an effect. An executor whose server
	// shows new runs late returns an error of the class Later until the run must be shown,
	// counted from [Run.Since]. It needn't look for a run that is fresh.
	Find(ctx context.Context, run Run) (*Observation, error)
	// Begin begins a run. It is called again with the same key if the outcome of an earlier
	// call is unknown and Find returned ErrUnknown, so it must not begin a second run then.
	Begin(ctx context.Context, run Run) (*Observation, error)
	// Observe returns the state of a run that has begun. Only an error of the class Gone ends
	// the run; after all others it is observed again.
	Observe(ctx context.Context, run Run) (*Observation, error)
	// Cancel asks the server to cancel a run, and doesn't wait for its end. It returns
	// [ErrNotSupported] if the server can't.
	Cancel(ctx context.Context, run Run) error
	// Approve passes the approval of a plan on, if the executor's runs make plans.
	// Otherwise it returns [ErrNotSupported], and the request itself is the plan, which is
	// approved before Begin.
	Approve(ctx context.Context, run Run, digest string) error
	// Plans reports whether runs make a plan, and wait for its approval by themselves if
	// [Run.Approval] is set.
	Plans() bool
}

// Run is a run as it was recorded.
type Run struct {
	// Namespace, Name and UID are those of the Action.
	Namespace, Name string
	UID             types.UID
	// Account is the service account that Secrets are read as.
	Account string
	// Request has the executor's inputs.
	Request v1alpha1.ActionExecutor
	Key     string
	Purpose v1alpha1.RunPurpose
	// Generation is that of the Action, and Attempt the number of the run.
	Generation, Attempt int64
	// ID is the earlier [Observation.ID], or empty.
	ID string
	// Approval is set if the run must wait for an approval of its plan. Approved is the digest of
	// the plan that was approved, or empty.
	Approval bool
	Approved string
	// IntentAt is when the run was recorded.
	IntentAt time.Time
	// CancelRequestedAt is when Cancel was called and the run was left to end, or zero. The
	// server may have refused to cancel it.
	CancelRequestedAt time.Time
	// Fresh is set if this process has just recorded the run, and not called Begin. So
	// nothing has begun it.
	Fresh bool
	// Since is the time since when no call of Begin was in progress, as far as this process
	// knows. A process that has just started takes the time at which it saw the run first.
	Since time.Time
	// Previous are the outputs of the last run that succeeded.
	Previous map[string]any
}

// Vars returns the variable run of expressions, with what an executor has to add.
func (r Run) Vars(more map[string]any) map[string]any {
	previous := r.Previous
	if previous == nil {
		previous = map[string]any{}
	}
	vars := map[string]any{"key": r.Key, "attempt": r.Attempt, "id": r.ID, "previous": previous}
	for name, value := range more {
		vars[name] = value
	}
	return map[string]any{"run": vars}
}

// Observation is the state of a run that has begun.
type Observation struct {
	State v1alpha1.RunState
	// ID is the server's name of the run. It is recorded, and mustn't be secret.
	ID string
	// URL is where people can look at the run.
	URL     string
	Message string
	// Permanent is set if the run failed for a reason that a repetition doesn't change.
	Permanent bool
	// Data has what expressions read, besides what every run has. [Observation.Publish] removes
	// secrets from it. Raw still has them, and is only for expressions of sensitive outputs.
	Data, Raw map[string]any
	// Sensitive has what only the expressions of sensitive outputs read, as run.sensitive.
	Sensitive map[string]any
	// Plan is set while the run waits for approval.
	Plan *v1alpha1.ActionPlan
	// Jobs and Artifacts are those of the run, if the server has them. The status gets the first
	// ones.
	Jobs      []v1alpha1.RunJob
	Artifacts []v1alpha1.RunArtifact
	// PollAfter is when to look again; 0 leaves that to the controller.
	PollAfter time.Duration
	// Secrets are the credentials of the requests, and Values are others that must not leave the
	// program either. Parts of Secrets are removed, too; Values are removed as a whole.
	Secrets, Values []string
}

// ErrUnknown is the error of Find if it can't be found out whether a run has begun.
var ErrUnknown = errors.New("it is not known whether the run has begun")

// ErrNotSupported is the error of methods that an executor can't implement.
var ErrNotSupported = errors.New("not supported")

// Error is the error of a request.
type Error struct {
	Class Class
	// After is the time before which the server wants no other request; zero if it doesn't
	// say.
	After time.Time
	// Unsent is set if the request is Terminal because it may not be sent to its server.
	Unsent bool
	// Message is without secrets.
	Message string
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// IsLater reports whether a request was not sent, because the program sends the server too many.
func IsLater(err error) bool {
	var known *Error
	return errors.As(err, &known) && known.Class == Later
}

// Class tells how a request failed.
type Class int

// The classes.
const (
	// Unknown requests may have had an effect.
	Unknown Class = iota
	// Retry requests have had no effect, and may succeed later.
	Retry
	// Terminal requests have had no effect, and won't until something changes.
	Terminal
	// Lost outcomes are unknown, and will remain so.
	Lost
	// Later requests were not sent, because the program sends the server too many. It isn't
	// recorded; the same request is sent at [Error.After].
	Later
	// Gone runs have begun, and the server knows them no longer.
	Gone
)
