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

// A node that isn't ready in time is counted once, and each cause that becomes known
// later is an Event.
func TestTimeoutIsCountedOnce(t *testing.T) {
	recorder := events.NewFakeRecorder(10)
	counted := &timeouts{}
	r := &reporter{events: recorder, metrics: counted}
	r.begin(&v1alpha1.ResourceGraph{}, nil, status.Cause{})
	change := func(phase v1alpha1.NodePhase, message string) {
		s := engine.Status{ID: "a", Phase: phase, Message: message}
		if phase == v1alpha1.NodeFailed {
			s.Reason = engine.ReasonReadinessTimeout
		}
		r.changes([]engine.Status{s}, func() string { return "" }, r.graph.CreationTimestamp.Time)
	}
	change(v1alpha1.NodeFailed, "not ready in 1s: has no status")
	change(v1alpha1.NodeFailed, "not ready in 1s: is pending")
	change(v1alpha1.NodeFailed, "not ready in 1s: is pending")
	if counted.n != 1 || len(recorder.Events) != 2 {
		t.Errorf("%d timeouts and %d Events; want 1 and 2", counted.n, len(recorder.Events))
	}
	change(v1alpha1.NodeReady, "")
	change(v1alpha1.NodeFailed, "not ready in 1s: is pending")
	if counted.n != 2 {
		t.Errorf("%d timeouts; want 2", counted.n)
	}
}

type timeouts struct {
	noMetrics
	n int
}

func (t *timeouts) ReadinessTimeout(_, _, _ string) { t.n++ }
