package trace

import (
	"slices"
	"time"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// execution is an entry in the history of a graph.
type execution struct {
	v1alpha1.Revision
	start, end time.Time
	// after is the end of the execution before it, if both belong to one run of the applier: the nodes
	// that were ready by then belong to that one.
	after time.Time
	// first is set until the revision was completed for the first time. These executions are one trace.
	first bool
}

// executions returns the history of a graph, oldest first.
func executions(rg *v1alpha1.ResourceGraph) (all []execution) {
	completed := false
	for _, r := range slices.Backward(rg.Status.History) {
		if r.Attempt == 0 {
			continue // of an older version
		}
		took, err := time.ParseDuration(r.Duration)
		if err != nil || took < 0 {
			took = 0 // another program wrote it; the end is known
		}
		x := execution{Revision: r, end: r.FinishedAt.UTC()}
		x.start = x.end.Add(-took)
		if r.StartedAt != nil {
			x.start = r.StartedAt.UTC()
			x.end = x.start.Add(took)
		}
		if len(all) == 0 && r.Revision == 1 && r.Attempt == 1 {
			x.start = interrupted(rg, x.start)
		}
		same := len(all) > 0 && all[len(all)-1].Revision.Revision == r.Revision
		if !same {
			completed = false
		} else if before := all[len(all)-1]; before.end.After(x.start) {
			x.after = before.end
		}
		// Without the entries before it, drift shows that the revision was complete.
		x.first = !completed && r.Reason != v1alpha1.RevisionDrift
		completed = completed || r.Result == v1alpha1.GraphCompleted
		all = append(all, x)
	}
	return all
}

// interrupted returns the start time of the first execution of a graph. start is the time in the history, at
// which the last applier process began. If an earlier process was killed, some nodes were applied before
// that. Later executions can't be corrected, because nodes keep the times of earlier executions.
func interrupted(rg *v1alpha1.ResourceGraph, start time.Time) time.Time {
	for _, n := range rg.Spec.Graph.Nodes {
		if s := rg.Status.NodeStates[n.ID]; s.AppliedAt != nil && s.AppliedAt.UTC().Before(start.Add(-imprecision)) {
			start = s.AppliedAt.UTC()
		}
	}
	return start
}

// imprecision is how much times that are rounded to milliseconds may differ.
const imprecision = 2 * time.Millisecond

// within reports whether a time belongs to an execution, and not to the one before it.
func (x execution) within(t time.Time) bool {
	return !t.IsZero() && !t.Before(x.start.Add(-imprecision)) && !t.After(x.end.Add(imprecision)) && (x.after.IsZero() || t.After(x.after))
}

// period returns when the execution worked on a node, and whether it did.
func (x execution) period(s v1alpha1.NodeState) (start, end time.Time, ok bool) {
	var applied, ready time.Time
	if s.AppliedAt != nil {
		applied = s.AppliedAt.UTC()
	}
	if s.ReadyAt != nil {
		ready = s.ReadyAt.UTC()
	}
	began := !applied.IsZero() && !applied.Before(x.start.Add(-imprecision)) && !applied.After(x.end.Add(imprecision))
	switch {
	case s.Phase == v1alpha1.NodeReady && x.within(ready) && began:
		return applied, later(applied, ready), true
	case s.Phase == v1alpha1.NodeReady && x.within(ready): // it was only read, and waited for
		return x.start, ready, true
	case s.Phase == v1alpha1.NodeReady:
		return time.Time{}, time.Time{}, false
	case began:
		return applied, later(applied, x.end), true
	case s.Phase == v1alpha1.NodeFailed:
		return x.start, x.end, true
	}
	return time.Time{}, time.Time{}, false
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
