package controller_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// judged is what kstatus says of every state that a graph goes through.
type judged struct {
	mu    sync.Mutex
	lines []string
	wrong []string
}

// judge watches a graph from before it is there.
func (b *env) judge(name string) *judged {
	b.t.Helper()
	list, err := b.graphs().List(b.t.Context(), metav1.ListOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	w, err := b.graphs().Watch(b.t.Context(), metav1.ListOptions{
		FieldSelector: "metadata.name=" + name, ResourceVersion: list.GetResourceVersion(),
	})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(w.Stop)
	j := &judged{}
	go func() {
		for event := range w.ResultChan() {
			if obj, ok := event.Object.(*unstructured.Unstructured); ok && event.Type != "DELETED" {
				j.see(obj)
			}
		}
	}()
	return j
}

func (j *judged) see(obj *unstructured.Unstructured) {
	got, err := status.Compute(obj)
	j.mu.Lock()
	defer j.mu.Unlock()
	if err != nil {
		j.wrong = append(j.wrong, err.Error())
		return
	}
	conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	line := fmt.Sprintf("generation %d: %s", obj.GetGeneration(), got.Status)
	if n := len(j.lines); n == 0 || j.lines[n-1] != line {
		j.lines = append(j.lines, line)
	}
	observed, _, _ := unstructured.NestedInt64(obj.Object, "status", "observedGeneration")
	if got.Status == status.CurrentStatus && observed != obj.GetGeneration() {
		j.wrong = append(j.wrong, fmt.Sprintf("current at generation %d, of which %d is observed", obj.GetGeneration(), observed))
	}
	for _, c := range conditions {
		c := c.(map[string]any)
		if c["observedGeneration"] != observed {
			j.wrong = append(j.wrong, fmt.Sprintf("condition %v is of generation %v, the status of %d", c["type"], c["observedGeneration"], observed))
		}
	}
}

// want holds the order of judgements.
func (j *judged) want(b *env, lines ...string) {
	b.t.Helper()
	b.eventually(fmt.Sprint("kstatus: ", lines), func(context.Context) bool {
		j.mu.Lock()
		defer j.mu.Unlock()
		return fmt.Sprint(j.lines) == fmt.Sprint(lines)
	})
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, wrong := range j.wrong {
		b.t.Error(wrong)
	}
}

// Clients that follow kstatus never see a graph as current before it is ready,
// nor as failed while it is still in progress.
func TestKstatusDuringRun(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	j := b.judge("web")
	defer func() {
		if t.Failed() {
			j.mu.Lock()
			t.Log(j.lines)
			j.mu.Unlock()
		}
	}()
	b.apply(b.rendered("web", webService))
	b.ready("web")
	// A new generation; then one that can't be, and one that can again.
	b.apply(b.rendered("web", nodes(configMap("config", "web", "2"))))
	b.ready("web")
	b.apply(b.rendered("web", nodes(configMap("config", "web", "2", "nowhere"))))
	b.until("web", condition("Stalled", "True", "Invalid", ""))
	b.apply(b.rendered("web", nodes(configMap("config", "web", "3"))))
	b.ready("web")
	b.merge("web", `{"spec":{"suspend":true}}`)
	b.until("web", isReady)
	b.apply(b.rendered("web", nodes(configMap("config", "web", "4")), func(s *v1alpha1.ResourceGraphSpec) { s.Suspend = true }))
	rg := b.until("web", condition("Ready", "Unknown", "Suspended", ""))
	if c := meta.FindStatusCondition(rg.Status.Conditions, "Reconciling"); c != nil {
		t.Errorf("of a suspended graph: %+v", c)
	}
	b.merge("web", `{"spec":{"suspend":false}}`)
	b.ready("web")
	b.patch("v1", "ConfigMap", "web", "somebody", `{"metadata":{"finalizers":["example.com/held"]}}`)
	b.remove("web")
	b.until("web", condition("Reconciling", "True", "Deleting", ""))
	b.patch("v1", "ConfigMap", "web", "somebody", `{"metadata":{"finalizers":null}}`)
	b.gone("web")
	j.want(b,
		"generation 1: InProgress", "generation 1: Current",
		"generation 2: InProgress", "generation 2: Current",
		"generation 3: InProgress", "generation 3: Failed",
		"generation 4: InProgress", "generation 4: Current",
		"generation 5: InProgress", "generation 5: Current",
		"generation 6: InProgress",
		"generation 7: InProgress", "generation 7: Current",
		"generation 8: Terminating",
	)
}
