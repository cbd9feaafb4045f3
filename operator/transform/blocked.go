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
	// reasonSucceeded: the step is done.
	reasonSucceeded = "Succeeded"
	// reasonProgressing: the first steps of a new Transform go on.
	reasonProgressing = "Progressing"
	// reasonPaused: a new Transform is paused by its label.
	reasonPaused = "Paused"
	// reasonInvalidModule: the module has mistakes.
	reasonInvalidModule = "InvalidModule"
	// reasonEvaluation: the evaluation of the module was given up.
	reasonEvaluation = "EvaluationStopped"
	// reasonBreaking: the CRD would break objects, and the digest is not approved.
	reasonBreaking = "BreakingChange"
	// reasonConflict: the CRD is that of another Transform, or of another tool.
	reasonConflict = "Conflict"
	// reasonReserved: the kind is in a group of Kubernetes or of Pequod.
	reasonReserved = "ReservedGroup"
	// reasonKindChanged: the CRD of the former kind still exists.
	reasonKindChanged = "KindChanged"
	// reasonRefused: two fields of the Transform contradict each other.
	reasonRefused = "Refused"
	// reasonGenerating: the CRD is being applied.
	reasonGenerating = "Generating"
	// reasonNotEstablished: the API server does not serve the kind yet.
	reasonNotEstablished = "NotEstablished"
	// reasonNames: another CRD has one of the names.
	reasonNames = "NamesNotAccepted"
	// reasonDeleting: the CRD is being deleted.
	reasonDeleting = "Deleting"
	// reasonNoWebhook: the webhook that converts instances is not configured yet.
	reasonNoWebhook = "NoConversionWebhook"
	// reasonMigrating: objects are being stored in another version.
	reasonMigrating = "MigratingStorage"
	// reasonMigration: an object could not be stored in another version.
	reasonMigration = "MigrationFailed"
	// reasonNoSamples: there are no graphs from which rights could be computed.
	reasonNoSamples = "NoSamples"
	// reasonInstancesForbidden: the manager may not read or patch the instances.
	reasonInstancesForbidden = "InstancesForbidden"
	// reasonNotListed: the instances can't be listed for another reason.
	reasonNotListed = "InstancesNotListed"
	// reasonOwnAccount: graphs have an account of their own namespace.
	reasonOwnAccount = "ServiceAccountName"
	// reasonNotExecuted: pequod-applier executes the graphs.
	reasonNotExecuted = "NotExecuted"
	// reasonGraphs: a deleted Transform waits until the graphs of its instances are gone.
	reasonGraphs = "GraphsExist"
	// reasonInstancesLost: the instances were deleted with their CRD. reasonDefinitionDeleted is
	// the reason of the condition InstancesLost.
	reasonInstancesLost     = "InstancesLost"
	reasonDefinitionDeleted = "DefinitionDeleted"
	// reasonDeletionFailed: a request for the deletion of what a Transform generated fails.
	reasonDeletionFailed = "DeletionFailed"
	// reasonInstances: a deleted Transform waits until its kind has no instance.
	reasonInstances = "InstancesExist"
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
