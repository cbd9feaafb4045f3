package controller_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// Each entry of the history counts the objects that its execution created, updated and
// deleted, and has the message of the condition Ready at its end.
func TestHistory(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.apply(b.rendered("web", nodes(configMap("a", "a", "1"), configMap("b", "b", "1"))))
	b.ready("web")
	b.apply(b.rendered("web", nodes(configMap("a", "a", "2"))))
	b.ready("web")
	// The same execution fails and then completes: each object counts in one entry.
	b.Apply(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: taken, namespace: "+b.Namespace+"}}")
	b.apply(b.rendered("web", nodes(configMap("a", "a", "2"), configMap("c", "c", "1"), configMap("taken", "taken", "1"))))
	failed := b.until("web", condition("Stalled", "True", "", "taken: "))
	if err := b.resource("v1", "ConfigMap").Delete(t.Context(), "taken", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	rg := b.ready("web")

	want := []entry{
		{3, 2, "Spec", "Completed", 1, 0, 0, "3 objects are ready"},
		{3, 1, "Spec", "Failed", 1, 0, 0, meta.FindStatusCondition(failed.Status.Conditions, "Ready").Message},
		{2, 1, "Spec", "Completed", 0, 1, 1, "1 object is ready"},
		{1, 1, "Spec", "Completed", 2, 0, 0, "2 objects are ready"},
	}
	if diff := cmp.Diff(want, entriesOf(rg)); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
}

// entry is an entry of a history without what varies.
type entry struct {
	Revision, Attempt         int64
	Reason                    v1alpha1.RevisionReason
	Result                    v1alpha1.GraphPhase
	Created, Updated, Deleted int
	Message                   string
}

// entriesOf returns the history of a graph.
func entriesOf(rg *v1alpha1.ResourceGraph) (all []entry) {
	for _, r := range rg.Status.History {
		all = append(all, entry{r.Revision, r.Attempt, r.Reason, r.Result, r.Created, r.Updated, r.Deleted, r.Message})
	}
	return all
}

// Corrections of drift, requests of users, and what a started applier restores are entries
// with their reason. A start that finds nothing to do writes nothing.
func TestHistoryReasons(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.apply(b.rendered("web", nodes(configMap("a", "a", "1"))))
	b.ready("web")
	entries := func(n int) *v1alpha1.ResourceGraph {
		t.Helper()
		return b.until("web", func(rg *v1alpha1.ResourceGraph) error {
			if len(rg.Status.History) != n {
				return fmt.Errorf("the history is %+v", entriesOf(rg))
			}
			return isReady(rg)
		})
	}
	drift := func() { b.patch("v1", "ConfigMap", "a", "somebody", `{"data":{"a":"other"}}`) }
	drift()
	entries(2)
	b.retry("web")
	entries(3)
	b.stop()
	drift()
	b.start(b.Config)
	before := entries(4)
	want := []entry{
		{1, 4, "Restart", "Completed", 0, 1, 0, "1 object is ready"},
		{1, 3, "Requested", "Completed", 0, 0, 0, "1 object is ready"},
		{1, 2, "Drift", "Completed", 0, 1, 0, "1 object is ready"},
		{1, 1, "Spec", "Completed", 1, 0, 0, "1 object is ready"},
	}
	if diff := cmp.Diff(want, entriesOf(before)); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	b.stop()
	b.start(b.Config)
	b.apply(b.rendered("later", nodes(configMap("b", "b", "1"))))
	b.ready("later")
	b.retry("web")
	after := entries(5)
	if got := entriesOf(after)[1:]; !cmp.Equal(got, want) {
		t.Errorf("a start without anything to do: %+v", got)
	}
}
