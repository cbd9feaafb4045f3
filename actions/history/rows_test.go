package history

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// TestRevisions checks the rows of a graph.
func TestRevisions(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	rg := &v1alpha1.ResourceGraph{ObjectMeta: metav1.ObjectMeta{UID: "u", Namespace: "shop", Name: "web"}}
	rg.Status.History = []v1alpha1.Revision{
		{Revision: 2, Attempt: 1, Reason: "Drift", Hash: "b", Result: "Failed", FinishedAt: metav1.NewTime(at), Nodes: 4, Created: 1, Updated: 2, Deleted: 3, Duration: "1m30s", Message: "m"},
		{Revision: 1, Duration: "soon"},
	}
	object := Object{"u", "shop", "web"}
	want := []Revision{
		{Object: object, Generation: 1, FinishedAt: time.Time{}},
		{object, 2, 1, "b", "Drift", "Failed", "m", 4, 1, 2, 3, 90 * time.Second, at},
	}
	if diff := cmp.Diff(want, Revisions(rg)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

// TestMissed checks how many rows are known to be missing.
func TestMissed(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		last Mark
		rows []Mark
		want int
	}{
		{Mark{}, nil, 0},
		{Mark{1, 1}, []Mark{{1, 1}, {1, 2}}, 0},
		{Mark{1, 1}, []Mark{{1, 3}, {1, 4}}, 1},
		{Mark{1, 1}, []Mark{{2, 1}, {4, 1}}, 0}, // generations that were never executed
		{Mark{1, 1}, []Mark{{2, 3}, {2, 5}, {3, 2}}, 4},
		{Mark{3, 1}, []Mark{{1, 1}, {2, 5}}, 0},
		{Mark{1, 1}, []Mark{{2, 0}}, 0}, // of an older version
	} {
		var rows []Revision
		for _, m := range test.rows {
			rows = append(rows, Revision{Generation: m.Generation, Attempt: m.Attempt})
		}
		if got := MissedRevisions(test.last, rows); got != test.want {
			t.Errorf("%+v after %+v: %d", test.rows, test.last, got)
		}
	}
	if got := MissedRuns(Mark{1, 4}, []Run{{Attempt: 3}, {Attempt: 6}, {Attempt: 7}, {Attempt: 9}}); got != 2 {
		t.Errorf("runs: %d", got)
	}
}

// TestEventOf checks the rows of Events of both APIs.
func TestEventOf(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	e := &eventsv1.Event{Type: "Warning", Reason: "Failed", Note: "no", EventTime: metav1.NewMicroTime(at)}
	e.UID, e.Regarding.Kind, e.Regarding.Name = "e", "Action", "db"
	want := Event{UID: "e", Kind: "Action", Object: Object{Name: "db"}, Type: "Warning", Reason: "Failed", Message: "no", Count: 1, FirstAt: at, LastAt: at}
	if diff := cmp.Diff(want, EventOf(e)); diff != "" {
		t.Errorf("row (-want +got):\n%s", diff)
	}
	e.Series = &eventsv1.EventSeries{Count: 7, LastObservedTime: metav1.NewMicroTime(at.Add(time.Hour))}
	want.Count, want.LastAt = 7, at.Add(time.Hour)
	if diff := cmp.Diff(want, EventOf(e)); diff != "" {
		t.Errorf("row of a series (-want +got):\n%s", diff)
	}
}
