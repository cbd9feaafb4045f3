package status

import (
	"slices"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// Cause is why a run began, as far as it is known at its begin.
type Cause struct {
	// Observed is set if an earlier run began to execute the same generation.
	Observed bool
	// Requested is set if a reconciliation was requested that no earlier run has begun.
	Requested bool
	// Resumed is set if the run is the first one since the process was started, of a graph
	// that was there before.
	Resumed bool
}

// Cause returns the cause of a run that begins with b.
func (b Base) Cause(resumed bool) Cause {
	return Cause{
		Observed:  b.Stored.ObservedGeneration == b.Graph.Generation,
		Requested: b.Requested != "" && b.requested() != b.Stored.ReconcileRequestedAt,
		Resumed:   resumed,
	}
}

// Reason returns the reason of the execution in the history. Completed is set if the
// revision had been completed before the run.
func (c Cause) Reason(completed bool) v1alpha1.RevisionReason {
	switch {
	case !c.Observed:
		return v1alpha1.RevisionSpec
	case c.Requested:
		return v1alpha1.RevisionRequested
	case c.Resumed:
		return v1alpha1.RevisionRestart
	case completed:
		return v1alpha1.RevisionDrift
	}
	return v1alpha1.RevisionSpec
}

// withRevision returns a history with a revision added in front, with the number of the
// attempt, unless it adds nothing to the last one.
func withRevision(history []v1alpha1.Revision, revision v1alpha1.Revision) []v1alpha1.Revision {
	revision.Attempt = 1
	if len(history) > 0 {
		last := &history[0]
		if !adds(&revision, last) {
			return history
		}
		if last.Revision == revision.Revision {
			revision.Attempt = last.Attempt + 1
		}
	}
	return bounded(append([]v1alpha1.Revision{revision}, history...))
}

// adds reports whether a revision is news after the last one. If both ended in the same
// way, it is if a user asked for it, or if it restored objects. So a graph that fails
// every minute doesn't push its last success out of the history, and a run that finds
// nothing to do writes nothing.
func adds(revision, last *v1alpha1.Revision) bool {
	if last.Revision != revision.Revision || last.Hash != revision.Hash || last.Result != revision.Result {
		return true
	}
	if last.Reason == revision.Reason && last.FinishedAt.Equal(&revision.FinishedAt) {
		return false // it was added by an earlier write of the same run
	}
	switch revision.Reason {
	case v1alpha1.RevisionRequested:
		return true
	case v1alpha1.RevisionDrift, v1alpha1.RevisionRestart:
		return revision.Result == v1alpha1.GraphCompleted && revision.Created+revision.Updated+revision.Deleted > 0
	}
	return false
}

// bounded returns a history with at most v1alpha1.MaxHistory entries. Of more, the
// oldest that isn't the execution of a spec is left out, or else the oldest, so that
// corrections of drift don't push out what users have changed. The newest entry stays,
// because it has the number of the attempt.
func bounded(history []v1alpha1.Revision) []v1alpha1.Revision {
	for len(history) > v1alpha1.MaxHistory {
		oldest := len(history) - 1
		for i, r := range slices.Backward(history[1:]) {
			if r.Reason != v1alpha1.RevisionSpec && r.Reason != "" {
				oldest = i + 1
				break
			}
		}
		history = slices.Delete(history, oldest, oldest+1)
	}
	return history
}
