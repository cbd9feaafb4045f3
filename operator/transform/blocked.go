package transform

import (
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/pequod-io/pequod/internal/problem"
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
