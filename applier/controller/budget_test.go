package controller_test

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// A graph over a limit is stalled with the limit and the figure, and has one Event,
// also after it is tried again.
func TestOverBudget(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	var keys []string
	for i := range 1001 {
		keys = append(keys, fmt.Sprintf(`k%d: {$from: cm.data.a}`, i))
	}
	rg := b.rendered("web", nodes(configMap("cm", "cm", "1"),
		`{id: many, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: many}, data: {`+strings.Join(keys, ", ")+`}}}`))
	b.apply(rg)
	const message = "nodes: the graph has 1001 late references and readiness expressions; the limit is 1000"
	b.until("web", condition("Stalled", "True", "OverBudget", message))
	b.event("web", "OverBudget", message)
	rg.Annotations = map[string]string{v1alpha1.AnnotationReconcileRequestedAt: "now"}
	b.apply(rg)
	b.until("web", func(rg *v1alpha1.ResourceGraph) error {
		if rg.Status.ReconcileRequestedAt != "now" {
			return errNotYet
		}
		return nil
	})
	events, err := b.Client.EventsV1().Events(b.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, e := range events.Items {
		if e.Reason == "OverBudget" {
			seen++
		}
	}
	if seen != 1 {
		t.Errorf("%d Events", seen)
	}
	b.wantExists(false, "v1", "ConfigMap", "cm", "many")
}

// A graph can't read itself: each write of its status would be news for it.
func TestGraphReadsItself(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.apply(b.rendered("web", nodes(
		`{id: me, externalRef: {apiVersion: platform.pequod.io/v1alpha1, kind: ResourceGraph, name: web}, readyWhen: [{type: Exists}]}`,
		`{id: copy, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: copy}, data: {a: {$from: me.status.phase}}}}`)))
	b.until("web", condition("Stalled", "True", "Invalid", "node me: externalRef: is the graph itself"))
}
