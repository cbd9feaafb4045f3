package engine

import (
	"testing"
	"time"
)

// While objects are applied, no cause is looked up.
func TestExplainWaitsForApplies(t *testing.T) {
	b := newEnv(t, `{graph: {nodes: [
		{id: a, resource: {apiVersion: apps/v1, kind: Deployment, metadata: {name: a}}},
		{id: b, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}}]}}`, nil,
		Options{ExplainInterval: 2 * time.Second, NeverApplied: true})
	b.step()
	b.answer(Record, Outcome{})
	if got := b.step(); got != "Apply a, Apply b" {
		t.Fatal(got)
	}
	b.answer(Apply, Outcome{Object: live(t, self, "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, uid: a, resourceVersion: '1'}}"), Created: true, Changed: true})
	for range 10 {
		b.now = b.now.Add(time.Second)
		if got := b.step(); got != "" {
			t.Fatalf("while b is being applied: %s", got)
		}
	}
	b.answer(Apply, Outcome{Object: live(t, self, "{apiVersion: v1, kind: ConfigMap, metadata: {name: b, uid: b, resourceVersion: '1'}}"), Created: true, Changed: true})
	b.now = b.now.Add(2 * time.Second)
	if got := b.step(); got != "Explain a" {
		t.Errorf("after all applies: %q", got)
	}
}

// The longer a node isn't ready, the less often the cause is looked up.
func TestExplainIntervalGrows(t *testing.T) {
	b := newEnv(t, "{"+oneNode+"}", nil, Options{ExplainInterval: 10 * time.Second})
	n := b.nodes.byID["a"]
	for _, test := range []struct{ waiting, want time.Duration }{
		{0, 10 * time.Second},
		{40 * time.Second, 10 * time.Second},
		{4 * time.Minute, time.Minute},
		{20 * time.Minute, 5 * time.Minute},
		{24 * time.Hour, 5 * time.Minute},
	} {
		n.progress.waitingSince = b.Engine.step.now.Add(-test.waiting)
		if got := b.explainInterval(n); got != test.want {
			t.Errorf("after %v: %v; want %v", test.waiting, got, test.want)
		}
	}
}
