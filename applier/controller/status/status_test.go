package status

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/engine"
)

// The history has a bound, and the newest revision first.
func TestHistoryIsBounded(t *testing.T) {
	var history []v1alpha1.Revision
	for i := range 3 * v1alpha1.MaxHistory {
		revision := v1alpha1.Revision{Revision: int64(i + 1), Hash: "h", Result: v1alpha1.GraphCompleted}
		history = withRevision(history, revision)
		history = withRevision(history, revision) // the same end of the same revision is added once
	}
	if len(history) != v1alpha1.MaxHistory || history[0].Revision != 3*v1alpha1.MaxHistory {
		t.Errorf("%d revisions, the first is %+v", len(history), history[0])
	}
}

// Executions that restore something, or that users asked for, are entries of their own. They
// don't push out those of specs.
func TestHistoryOfOneRevision(t *testing.T) {
	at := time.Unix(1e9, 0)
	var history []v1alpha1.Revision
	add := func(revision int64, reason v1alpha1.RevisionReason, result v1alpha1.GraphPhase, updated int) {
		at = at.Add(time.Minute)
		r := v1alpha1.Revision{Revision: revision, Hash: "h", Reason: reason, Result: result, Updated: updated, FinishedAt: metav1.NewTime(at)}
		history = withRevision(history, r)
		history = withRevision(history, r) // the status is written again
	}
	want := func(texts ...string) {
		t.Helper()
		var got []string
		for _, r := range history {
			got = append(got, fmt.Sprintf("%d.%d %s %s", r.Revision, r.Attempt, r.Reason, r.Result))
		}
		if diff := cmp.Diff(texts, got); diff != "" {
			t.Errorf("history (-want +got):\n%s", diff)
		}
	}
	add(1, "Spec", "Failed", 0)
	add(1, "Spec", "Failed", 1)    // a retry
	add(1, "Restart", "Failed", 0) // fails again
	add(1, "Requested", "Failed", 0)
	add(1, "Spec", "Completed", 1)
	add(1, "Restart", "Completed", 0) // nothing to do
	add(1, "Drift", "Completed", 0)
	add(1, "Drift", "Completed", 1)
	want("1.4 Drift Completed", "1.3 Spec Completed", "1.2 Requested Failed", "1.1 Spec Failed")
	for range 20 {
		add(1, "Drift", "Completed", 1)
	}
	if oldest := history[len(history)-2:]; len(history) != v1alpha1.MaxHistory || oldest[0].Attempt != 3 || oldest[1].Attempt != 1 {
		t.Errorf("drift pushes out executions of specs: %+v", history)
	}
	for i := range v1alpha1.MaxHistory {
		add(int64(i+2), "Spec", "Completed", 1)
	}
	add(11, "Drift", "Completed", 1)
	add(11, "Drift", "Completed", 1)
	want("11.3 Drift Completed", "11.1 Spec Completed", "10.1 Spec Completed", "9.1 Spec Completed", "8.1 Spec Completed",
		"7.1 Spec Completed", "6.1 Spec Completed", "5.1 Spec Completed", "4.1 Spec Completed", "3.1 Spec Completed")
}

// The reason of an execution.
func TestReason(t *testing.T) {
	for _, test := range []struct {
		observed            int64
		requested, repeated string
		resumed, completed  bool
		want                v1alpha1.RevisionReason
	}{
		{observed: 1, requested: "a", resumed: true, want: "Spec"},
		{observed: 2, want: "Spec"},
		{observed: 2, completed: true, want: "Drift"},
		{observed: 2, resumed: true, completed: true, want: "Restart"},
		{observed: 2, resumed: true, want: "Restart"},
		{observed: 2, requested: "a", resumed: true, completed: true, want: "Requested"},
		{observed: 2, requested: "a", repeated: "a", completed: true, want: "Drift"},
	} {
		b := Base{
			Graph:     &v1alpha1.ResourceGraph{ObjectMeta: metav1.ObjectMeta{Generation: 2}},
			Stored:    &v1alpha1.ResourceGraphStatus{ObservedGeneration: test.observed, ReconcileRequestedAt: test.repeated},
			Requested: test.requested,
		}
		if got := b.Cause(test.resumed).Reason(test.completed); got != test.want {
			t.Errorf("%+v: %s", test, got)
		}
	}
}

// A failure that all nodes share is written out once.
func TestSharedFailureIsWrittenOnce(t *testing.T) {
	var nodes []engine.Status
	for _, id := range []string{"a", "b", "c"} {
		nodes = append(nodes, engine.Status{ID: id, Phase: v1alpha1.NodeFailed, Message: "the inventory can't be written: no", Shared: true})
	}
	states := nodeStates(nodes, nil)
	for id, want := range map[string]string{"a": "the inventory can't be written: no", "b": "as node a", "c": "as node a"} {
		if got := states[id].Message; got != want {
			t.Errorf("%s: %s; want %s", id, got, want)
		}
	}
}

// A graph with a degraded node isn't ready. It is still being reconciled, because the node may
// become ready by itself. The reason of a failure takes precedence.
func TestDegraded(t *testing.T) {
	degraded := engine.Status{ID: "a", Phase: v1alpha1.NodeDegraded, Reason: engine.ReasonDegraded, Message: "0 of 1 replica available: it crashes"}
	failed := engine.Status{ID: "b", Phase: v1alpha1.NodeFailed, Reason: engine.ReasonConflict, Message: "conflict"}
	nodes := []engine.Status{degraded, {ID: "c", Phase: v1alpha1.NodeReady}, {Phase: v1alpha1.NodeDeleting, Message: "leaves"}}
	for _, test := range []struct {
		nodes           []engine.Status
		reason, message string
		counts          v1alpha1.NodeCounts
	}{
		{nodes, "Degraded", "1 of 2 ready; a: 0 of 1 replica available: it crashes; ", v1alpha1.NodeCounts{Total: 2, Ready: 1, Failed: 1, Summary: "1/2"}},
		{append(nodes, failed), "Conflict", "1 of 3 ready; a: 0 of 1 replica available: it crashes; b: conflict; ", v1alpha1.NodeCounts{Total: 3, Ready: 1, Failed: 2, Summary: "1/3"}},
	} {
		s := Run{Base: Base{Graph: &v1alpha1.ResourceGraph{}, Stored: &v1alpha1.ResourceGraphStatus{}}, Phase: engine.Executing, Nodes: test.nodes}.Status()
		ready := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady)
		if ready.Status != metav1.ConditionFalse || ready.Reason != test.reason || !strings.HasPrefix(ready.Message, test.message) {
			t.Errorf("%+v", ready)
		}
		if !meta.IsStatusConditionTrue(s.Conditions, v1alpha1.ConditionReconciling) {
			t.Error("isn't reconciling")
		}
		if diff := cmp.Diff(&test.counts, s.Nodes); diff != "" {
			t.Errorf("nodes (-want +got):\n%s", diff)
		}
	}
}
