package transform

import (
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/operator/fetch"
)

// blocked is why a step of a Transform is not done.
type blocked struct {
	// condition is the type of the condition of the step.
	condition string
	// reason and message are those of the condition.
	reason, message string
	// stalled means that a user has to change something. Otherwise the step is repeated, or
	// the Transform waits.
	stalled bool
	// after is the time after which the step is repeated, or 0 if only an event repeats it.
	after time.Duration
	// event is the reason of the Event about it, or "" if there is none.
	event string
}

// Reasons of conditions.
const (
	reasonSucceeded      = "Succeeded"
	reasonInvalidModule  = "InvalidModule"
	reasonEvaluation     = "EvaluationStopped"
	reasonBreaking       = "BreakingChange"
	reasonConflict       = "Conflict"
	reasonReserved       = "ReservedGroup"
	reasonKindChanged    = "KindChanged"
	reasonRefused        = "Refused"
	reasonNotEstablished = "NotEstablished"
	reasonNames          = "NamesNotAccepted"
	reasonDeleting       = "Deleting"
	reasonMigrating      = "MigratingStorage"
	reasonMigration      = "MigrationFailed"
	reasonNoSamples      = "NoSamples"
	reasonOwnAccount     = "ServiceAccountName"
	reasonInstances      = "InstancesExist"
)

// fetchFailed returns the block for an error of fetching. failures is the number of failures
// before this one.
func (r *reconciler) fetchFailed(t *v1alpha1.Transform, err error, failures int) *blocked {
	b := &blocked{condition: v1alpha1.ConditionCueFetched, reason: fetch.Reason(err), message: err.Error(), event: "CueFetchFailed"}
	b.after = max(min(r.Backoff<<min(failures, 20), interval(t)), fetch.RetryAfter(err))
	if b.stalled = !fetch.Transient(err); b.stalled {
		b.after = interval(t) // what is missing or wrong may be corrected at its source
	}
	return b
}

// loadFailed returns the block for an error of a worker process.
func (r *reconciler) loadFailed(t *v1alpha1.Transform, err error, failures int) *blocked {
	b := &blocked{condition: v1alpha1.ConditionSchemaExtracted, reason: reasonInvalidModule, event: "CueRenderFailed", stalled: true, after: interval(t)}
	var problems problem.List
	if errors.As(err, &problems) {
		// Only evaluation shows which files belong to the module.
		if fetch.Reason(err) == fetch.DigestMismatch {
			b.condition, b.reason, b.event = v1alpha1.ConditionCueFetched, fetch.DigestMismatch, "CueFetchFailed"
		}
		b.message = firstLines(lines(problems))
		return b
	}
	// A busy machine may be the cause, so it is tried again. A module that needs too much stays
	// one that needs a change.
	b.reason, b.message, b.stalled = reasonEvaluation, err.Error(), failures >= patience
	b.after = min(r.Backoff<<min(failures, 20), interval(t))
	return b
}

// patience is the number of evaluations that are repeated without a user's doing.
const patience = 3

// requestFailed returns the block for an error of the API server that a user has to solve, or
// nil for one that a repetition solves.
func requestFailed(condition string, err error) *blocked {
	if !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err) {
		return nil
	}
	return &blocked{condition: condition, reason: string(apierrors.ReasonForError(err)), message: err.Error(), stalled: true, after: time.Minute}
}

// maxLines is the number of lines of a message. The API server limits it to 32 KiB.
const maxLines = 10

// firstLines returns the first lines, and how many more there are.
func firstLines(all []string) string {
	if len(all) <= maxLines {
		return strings.Join(all, "\n")
	}
	return strings.Join(all[:maxLines], "\n") + fmt.Sprintf("\n(and %d more)", len(all)-maxLines)
}

// lines returns each problem as a line.
func lines(problems problem.List) []string {
	var all []string
	for _, p := range problems {
		all = append(all, p.String())
	}
	return all
}

// interval returns the time between two fetches.
func interval(t *v1alpha1.Transform) time.Duration {
	if t.Spec.Interval != nil {
		return max(t.Spec.Interval.Duration, v1alpha1.MinInterval)
	}
	return v1alpha1.DefaultInterval
}
