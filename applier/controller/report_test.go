package controller

import (
	"fmt"
	"testing"

	"k8s.io/client-go/tools/events"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/controller/status"
	"github.com/pequod-io/pequod/applier/engine"
)

// A failure of a request that all nodes depend on is one Event, and not one for each
// of thousands of nodes and attempts.
func TestSharedFailureIsReportedOnce(t *testing.T) {
	recorder := events.NewFakeRecorder(1000)
	r := &reporter{events: recorder, metrics: noMetrics{}}
	r.begin(&v1alpha1.ResourceGraph{}, nil, status.Cause{})
	for attempt := range 3 {
		var changes []engine.Status
		for i := range 100 {
			changes = append(changes, engine.Status{
				ID: fmt.Sprint("n", i), Phase: v1alpha1.NodeFailed, Reason: engine.ReasonForbidden,
				Message: "the inventory can't be written: no", Shared: true, Attempts: attempt,
			})
		}
		changes = append(changes, engine.Status{ID: "b", Phase: v1alpha1.NodeBlocked, Message: "waits for n1"})
		r.changes(changes, func() string { return "" }, r.graph.CreationTimestamp.Time)
	}
	if n := len(recorder.Events); n != 1 {
		t.Errorf("%d Events; want 1", n)
	}
}
