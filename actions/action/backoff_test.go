package action

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// TestBackoff has every run fail, and compares the times between the end of a run and the next one:
// 1, 2, 4 … 1,024 minutes, and no more. After a request the Action runs at once, and the times begin
// again. By default there are 8 repetitions.
func TestBackoff(t *testing.T) {
	t.Parallel()
	w := newWorld(0)
	w.server.calm = true
	w.stored.Spec.Timeout = ""
	w.stored.Spec.Retry = &v1alpha1.ActionRetry{Attempts: new(int32(13))}
	// waits lets the Action run until nothing is left to do.
	waits := func() (minutes []int) {
		t.Helper()
		ended := time.Time{}
		for runs := w.stored.Status.Runs; ; {
			for _, r := range w.server.runs {
				if r.state == v1alpha1.RunRunning {
					r.left, r.state = 0, v1alpha1.RunFailed
				}
			}
			done := w.step()
			s := &w.stored.Status
			if s.Runs > runs && !ended.IsZero() {
				minutes = append(minutes, int(s.Run.IntentAt.Sub(ended).Round(time.Minute)/time.Minute))
			}
			if runs = s.Runs; s.Run.Ended() {
				ended = s.Run.FinishedAt.Time
			}
			if done {
				return minutes
			}
			if len(minutes) > 100 {
				t.Fatal("no end")
			}
		}
	}
	if diff := cmp.Diff([]int{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 1024, 1024}, waits()); diff != "" {
		t.Error(diff)
	}
	w.stored.Annotations = map[string]string{v1alpha1.AnnotationReconcileRequestedAt: "now"}
	w.stored.Spec.Retry = nil
	before := w.now
	if diff := cmp.Diff([]int{1, 2, 4, 8, 16, 32, 64, 128}, waits()); diff != "" {
		t.Error("after a request: ", diff)
	}
	for _, r := range w.stored.Status.History {
		if r.Reason == v1alpha1.ReasonRequested && r.StartedAt.Sub(before) > time.Minute {
			t.Errorf("the requested run began %s later", r.StartedAt.Sub(before))
		}
	}
}
