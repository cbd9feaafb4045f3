package engine_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
)

// layered returns a graph of n nodes in layers. Each node depends on one node of the
// previous layer; width 1 makes a chain.
func layered(n, width int) *v1alpha1.ResourceGraph {
	rg := &v1alpha1.ResourceGraph{}
	rg.Namespace, rg.Name = "default", "big"
	for i := range n {
		node := v1alpha1.Node{
			ID: fmt.Sprint("n", i),
			Resource: &runtime.RawExtension{Raw: fmt.Appendf(nil,
				`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"n%d","labels":{"app":"x"}},"data":{"a":"1","b":"2"}}`, i)},
		}
		if i >= width {
			node.Dependencies = []string{fmt.Sprint("n", i-width)}
		}
		rg.Spec.Graph.Nodes = append(rg.Spec.Graph.Nodes, node)
	}
	return rg
}

// applied returns the API server's answer to an apply.
func applied(want map[string]any, uid int) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(want)}
	u.SetUID(types.UID("u" + strconv.Itoa(uid)))
	u.SetResourceVersion(strconv.Itoa(uid))
	labels := map[string]any{}
	for name := range u.GetLabels() {
		labels["f:"+name] = map[string]any{}
	}
	u.Object["metadata"].(map[string]any)["managedFields"] = []any{map[string]any{
		"manager": "pequod", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1",
		"fieldsV1": map[string]any{
			"f:metadata": map[string]any{"f:labels": labels},
			"f:data":     map[string]any{"f:a": map[string]any{}, "f:b": map[string]any{}},
		},
	}}
	return u
}

// drive answers every action at once and steps after each answer, which is the
// largest possible number of steps. It returns that number.
func drive(tb testing.TB, e *engine.Engine) (steps int) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var todo []engine.Action
	made := 0
	for {
		step := e.Step(now)
		steps++
		todo = append(todo, step.Actions...)
		if len(todo) == 0 {
			if step.Phase != engine.Completed {
				tb.Fatalf("nothing to do, and the graph is %s", step.Phase)
			}
			return steps
		}
		a := todo[0]
		todo = todo[1:]
		now = now.Add(time.Millisecond)
		var o engine.Outcome
		switch a.Verb {
		case engine.Apply:
			made++
			o.Object, o.Created, o.Changed = applied(a.Apply.Object, made), true, true
		case engine.Record:
			o.Saved = a.Inventory
		}
		e.Done(a, o)
	}
}

// BenchmarkApply applies and deletes whole graphs, with a step after each answer.
func BenchmarkApply(b *testing.B) {
	for _, size := range []struct {
		name     string
		n, width int
	}{{"400", 400, 100}, {"2000", 2000, 100}, {"chain-2000", 2000, 1}, {"flat-2000", 2000, 2000}} {
		rg := layered(size.n, size.width)
		b.Run(size.name, func(b *testing.B) {
			for b.Loop() {
				e, err := engine.New(rg, nil, engine.Options{Prune: true})
				if err != nil {
					b.Fatal(err)
				}
				steps := drive(b, e)
				b.ReportMetric(float64(steps), "steps")
			}
		})
		b.Run("delete-"+size.name, func(b *testing.B) {
			stored := &inventory.Inventory{Owner: inventory.Owner{Namespace: "default", Name: "big"}, Revision: "1", Complete: true}
			for i := range size.n {
				stored.Entries = append(stored.Entries, inventory.Entry{
					Key: inventory.Key{Kind: "ConfigMap", Namespace: "default", Name: fmt.Sprint("n", i)}, Version: "v1",
					UID: types.UID(fmt.Sprint("u", i)), Wave: i / size.width,
				})
			}
			for b.Loop() {
				deleteAll(b, engine.NewDelete(stored, engine.Options{}), stored)
			}
		})
	}
}

// deleteAll drives a deletion to its end, with one answer per step.
func deleteAll(tb testing.TB, e *engine.Engine, stored *inventory.Inventory) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var todo []engine.Action
	for {
		step := e.Step(now)
		todo = append(todo, step.Actions...)
		if len(todo) == 0 {
			if step.Phase != engine.Completed {
				tb.Fatalf("nothing to do, and the deletion is %s", step.Phase)
			}
			return
		}
		a := todo[0]
		todo = todo[1:]
		now = now.Add(time.Millisecond)
		var o engine.Outcome
		switch a.Verb {
		case engine.Survey:
			for _, entry := range stored.Entries {
				u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{}}}
				u.SetName(entry.Name)
				u.SetNamespace(entry.Namespace)
				u.SetLabels(stored.Owner.Labels())
				u.SetUID(entry.UID)
				o.Objects = append(o.Objects, u)
			}
		case engine.Record:
			o.Saved = a.Inventory
		}
		e.Done(a, o)
	}
}
