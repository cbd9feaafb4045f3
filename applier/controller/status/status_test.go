package status

import (
	"testing"

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
