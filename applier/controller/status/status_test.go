package status

import (
	"testing"

	"github.com/pequod-io/pequod/api/v1alpha1"
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
