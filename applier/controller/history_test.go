package controller_test

import (
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

	type entry struct {
		Revision                  int64
		Result                    v1alpha1.GraphPhase
		Created, Updated, Deleted int
		Message                   string
	}
	var got []entry
	for _, r := range rg.Status.History {
		got = append(got, entry{r.Revision, r.Result, r.Created, r.Updated, r.Deleted, r.Message})
	}
	want := []entry{
		{3, "Completed", 1, 0, 0, "3 objects are ready"},
		{3, "Failed", 1, 0, 0, meta.FindStatusCondition(failed.Status.Conditions, "Ready").Message},
		{2, "Completed", 0, 1, 1, "1 object is ready"},
		{1, "Completed", 2, 0, 0, "2 objects are ready"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
}
