package source

import (
	"fmt"
	"strings"
	"time"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/operator/artifact"
)

// failure is the reason why an InstanceSource has no artifact for the revision of its source. The
// last artifact stays.
type failure struct {
	// reason and message are those of the condition.
	reason, message string
	// stalled means that only a change by a user helps. Otherwise the manager tries again.
	stalled bool
	// after is the pause before the next attempt, or 0 for a backoff.
	after time.Duration
	// quota is the archive that exceeds a quota, or nil.
	quota *artifact.LimitError
	// waits means that the cause should pass soon after the start, so the status isn't written.
	waits bool
}

// Reasons of conditions.
const (
	// reasonSucceeded: the artifact was rendered from the source's revision.
	reasonSucceeded = "Succeeded"
	// reasonProgressing: the files are rendered for the first time.
	reasonProgressing = "Progressing"
	// reasonSuspended: spec.suspend is set.
	reasonSuspended = "Suspended"
	// reasonAccessDenied: the source is in another namespace, which --no-cross-namespace-refs
	// forbids. It is Flux's reason.
	reasonAccessDenied = "AccessDenied"
	// reasonKindMissing: the cluster doesn't serve the kind of the source or ExternalArtifacts.
	reasonKindMissing = "KindMissing"
	// reasonSourceNotFound: there is no such source.
	reasonSourceNotFound = "SourceNotFound"
	// reasonSourceNotReady: the source has no artifact.
	reasonSourceNotReady = "SourceNotReady"
	// reasonFetchFailed: the artifact couldn't be downloaded.
	reasonFetchFailed = "FetchFailed"
	// reasonArtifactInvalid: the archive can't be read, or has another digest than its source names.
	reasonArtifactInvalid = "ArtifactInvalid"
	// reasonNoInstances: the path has no instances.
	reasonNoInstances = "NoInstances"
	// reasonInvalid: a file can't be rendered.
	reasonInvalid = "RenderFailed"
	// reasonEvaluation: rendering exceeded a limit, or failed for another cause than the files.
	reasonEvaluation = "EvaluationStopped"
	// reasonTransform: a Transform is not ready, or paused.
	reasonTransform = "TransformNotReady"
	// reasonStorage: the archive couldn't be saved.
	reasonStorage = "StorageOperationFailed"
	// reasonQuota: the archive doesn't fit in a quota. It is saved as soon as there is room.
	reasonQuota = "QuotaExceeded"
	// reasonRate: the InstanceSource or its namespace has stored too much lately.
	reasonRate = "RateLimited"
	// reasonExists: an ExternalArtifact of that name belongs to something else.
	reasonExists = "ExternalArtifactExists"
	// reasonPublish: the ExternalArtifact couldn't be written.
	reasonPublish = "PublishFailed"
)

// The limits of messages: the number of problems, and of bytes for each.
const (
	maxProblems = 10
	maxProblem  = 800
)

// refused returns the failure of files with problems. At least one problem is an error.
func refused(problems problem.List) *failure {
	f := &failure{reason: reasonInvalid, stalled: true}
	var lines []string
	more := 0
	for _, p := range problems {
		switch {
		case p.Severity != problem.Error:
		case len(lines) == maxProblems:
			more++
		default:
			lines = append(lines, source.OneLine(p.String(), maxProblem))
		}
	}
	f.message = strings.Join(lines, "\n")
	if more > 0 {
		f.message += fmt.Sprintf("\n(and %d more)", more)
	}
	return f
}

// tooLarge returns the failure of a rendering that exceeds a limit of bytes.
func tooLarge(what string, limit int) *failure {
	return &failure{
		reason: reasonStorage, stalled: true,
		message: fmt.Sprintf("%s larger than %d MiB; divide the instances among several InstanceSources", what, limit>>20),
	}
}
