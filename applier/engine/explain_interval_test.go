package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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

// While other nodes become ready, no cause is looked up, unless a node waits for long.
func TestExplainWaitsForProgress(t *testing.T) {
	for _, test := range []struct {
		name    string
		becomes int // number of nodes that become ready, one a second
		want    int // seconds after which the others are explained
	}{
		{"none becomes ready", 0, 1},
		{"some become ready", 3, 5}, // two seconds after the last
		{"others become ready all the time", 20, 11},
	} {
		var ids []string
		for i := range test.becomes + 1 {
			ids = append(ids, fmt.Sprintf("{id: n%[1]d, readyWhen: [{type: Expression, expr: 'has(object.metadata.annotations)'}], "+
				"resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: n%[1]d}}}", i))
		}
		b := newEnv(t, "graph: {nodes: ["+strings.Join(ids, ", ")+"]}", nil, Options{ExplainInterval: 2 * time.Second, NeverApplied: true})
		b.step()
		b.answer(Record, Outcome{})
		b.step()
		applied := map[string]*unstructured.Unstructured{}
		for i := range ids {
			a := b.todo[0]
			o := result(b, a, fmt.Sprintf("u-%d", i), 1)
			applied[a.Node] = o.Object
			b.answer(Apply, o)
		}
		b.expect("")
		explained := 0
		for second := 1; second < 15 && explained == 0; second++ {
			b.now = b.now.Add(time.Second)
			if id := fmt.Sprintf("n%d", second); applied[id] != nil {
				applied[id].SetAnnotations(map[string]string{"ready": "true"})
				applied[id].SetResourceVersion("2")
				b.Observe(applied[id])
			}
			if strings.Contains(b.step(), "Explain n0") {
				explained = second
			}
		}
		if explained != test.want {
			t.Errorf("%s: explained after %d seconds; want %d", test.name, explained, test.want)
		}
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
		if got := b.explainInterval(n, &observation{}); got != test.want {
			t.Errorf("after %v: %v; want %v", test.waiting, got, test.want)
		}
	}
}
