package engine

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// Of many unready nodes, a few are explained at a time, and each in its turn.
func TestExplainRoundRobin(t *testing.T) {
	const nodes = 25
	rg := &v1alpha1.ResourceGraph{}
	rg.Name, rg.Namespace = "g", "ns"
	for i := range nodes {
		raw, err := json.Marshal(map[string]any{
			"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": fmt.Sprintf("d%02d", i)},
		})
		if err != nil {
			t.Fatal(err)
		}
		rg.Spec.Graph.Nodes = append(rg.Spec.Graph.Nodes, v1alpha1.Node{
			ID: fmt.Sprintf("n%02d", i), Resource: &runtime.RawExtension{Raw: raw},
		})
	}
	e, err := New(rg, nil, Options{ExplainInterval: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	start := time.Unix(1000, 0)
	explained := map[string]int{}
	// perSecond checks the number of explanations in each second.
	var perSecond []int
	for second := range 7 {
		now := start.Add(time.Duration(second) * time.Second)
		count := 0
		for step := e.Step(now); len(step.Actions) > 0; step = e.Step(now) {
			for _, a := range step.Actions {
				o := Outcome{}
				switch a.Verb {
				case Record:
					o.Saved = a.Inventory
				case Apply:
					object := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(a.Apply.Object)}
					object.SetUID(types.UID(a.Node))
					object.SetResourceVersion("1")
					o.Object, o.Created, o.Changed = object, true, true
				case Explain:
					explained[a.Node]++
					count++
				}
				e.Done(a, o)
			}
		}
		perSecond = append(perSecond, count)
	}
	// The first explanations are requested after one second, the next ones every two
	// seconds.
	if diff := cmp.Diff([]int{0, 10, 0, 10, 0, 10, 0}, perSecond); diff != "" {
		t.Errorf("explained in each second (-want +got):\n%s", diff)
	}
	if got := len(slices.Collect(maps.Keys(explained))); got != nodes {
		t.Errorf("%d nodes were explained; want all %d", got, nodes)
	}
}
