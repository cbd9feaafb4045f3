package applier_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
)

func (b *env) delete(name string) *applier.Result {
	b.t.Helper()
	b.events = nil
	result, err := b.applier.Delete(b.t.Context(), inventory.Owner{Namespace: b.Namespace, Name: name}, b.options)
	if err != nil {
		b.show(result)
		b.t.Fatal(err)
	}
	if result.Phase != engine.Completed {
		b.show(result)
		b.t.Fatalf("delete: phase %s; want Completed", result.Phase)
	}
	return result
}

func TestPrune(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	chain := `
nodes:
- {id: a, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}}
- {id: b, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}, dependencies: [a]}
- {id: c, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: c}}, dependencies: [b]}
- {id: k, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: k}}}
`
	b.complete(b.graph("g", chain))
	kept := `nodes: [{id: k, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: k}}}]`
	b.wantOps(b.complete(b.graph("g", kept)), "k unchanged, c deleted, b deleted, a deleted")
	var order []string
	for _, e := range b.events {
		if e.Phase == v1alpha1.NodeGone {
			order = append(order, e.Key.Name)
		}
	}
	if fmt.Sprint(order) != "[c b a]" {
		t.Errorf("pruned in order %v; want c, b, a", order)
	}
	b.wantOwned("g", "ConfigMap k")

	// Nothing is pruned before every node is ready, or without Prune.
	b.complete(b.graph("g", chain))
	broken := `
nodes:
- {id: k, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: k}}}
- {id: bad, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: bad}, data: {a: {b: c}}}}`
	b.stuck(b.graph("g", broken), "bad", engine.ReasonInvalid, "")
	b.wantExists("v1", "ConfigMap", true, "a", "b", "c")
	b.options.Prune = false
	b.complete(b.graph("g", kept))
	b.wantExists("v1", "ConfigMap", true, "a", "b", "c")
	b.options.Prune = true
	b.complete(b.graph("g", kept))
	b.wantExists("v1", "ConfigMap", false, "a", "b", "c")

	// An empty graph prunes only with AllowEmpty.
	if _, err := b.applier.Apply(t.Context(), b.graph("g", `nodes: []`), b.options); !errors.Is(err, engine.ErrEmpty) {
		t.Errorf("an empty graph: error %v; want ErrEmpty", err)
	}
	b.wantExists("v1", "ConfigMap", true, "k")
	b.options.AllowEmpty = true
	b.complete(b.graph("g", `nodes: []`))
	b.wantExists("v1", "ConfigMap", false, "k")
}

func TestRenamedNodesPruneNothing(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.complete(b.graph("g", `nodes: [`+configMap("one", "a", "x")+`, `+configMap("two", "b", "x")+`]`))
	uid := b.Get(t, "v1", "ConfigMap", "a").GetUID()
	moved := strings.Replace(configMap("uno", "a", "x"), `{"id"`, `{"dependencies":["two"],"id"`, 1)
	b.wantOps(b.complete(b.graph("g", `nodes: [`+moved+`, `+configMap("two", "b", "x")+`]`)), "uno unchanged, two unchanged")
	if b.Get(t, "v1", "ConfigMap", "a").GetUID() != uid {
		t.Error("the object was recreated")
	}
}

func TestBackAndForth(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	one := `nodes: [` + configMap("a", "a", "1") + `, ` + configMap("b", "b", "1") + `]`
	two := `nodes: [` + configMap("b", "b", "2") + `, ` + configMap("c", "c", "2") + `]`
	b.complete(b.graph("g", one))
	for range 3 {
		// The second run is interrupted at a random time.
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			_, err := b.applier.Apply(ctx, b.graph("g", two), b.options)
			done <- err
		}()
		b.eventually("second run", func(context.Context) bool { return b.exists("v1", "ConfigMap", "c") })
		cancel()
		<-done
		b.complete(b.graph("g", one))
		b.wantExists("v1", "ConfigMap", true, "a", "b")
		b.wantExists("v1", "ConfigMap", false, "c")
		b.wantValue("v1", "ConfigMap", "b", "data.a", "1")
		b.wantOwned("g", "ConfigMap a, ConfigMap b")
	}
}

func TestLostInventory(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.complete(b.graph("g", `nodes: [`+configMap("a", "a", "1")+`, `+configMap("b", "b", "1")+`]`))
	// A copy of an object with its labels belongs to its author.
	labels := b.Get(t, "v1", "ConfigMap", "a").GetLabels()
	b.Cluster.Apply(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: copy, labels: {`+labelText(labels)+`}}}`)
	b.loseInventory("g")
	b.wantOps(b.complete(b.graph("g", `nodes: [`+configMap("a", "a", "1")+`]`)), "a unchanged, b deleted")
	b.wantExists("v1", "ConfigMap", true, "copy", "a")
	b.wantOwned("g", "ConfigMap a")

	b.loseInventory("g")
	b.delete("g")
	b.wantExists("v1", "ConfigMap", false, "a")
	b.wantExists("v1", "ConfigMap", true, "copy")
}

func labelText(labels map[string]string) string {
	var parts []string
	for k, v := range labels {
		parts = append(parts, fmt.Sprintf("%q: %q", k, v))
	}
	return strings.Join(parts, ", ")
}

func (b *env) loseInventory(name string) {
	b.t.Helper()
	err := b.Client.CoreV1().ConfigMaps(b.Namespace).DeleteCollection(b.t.Context(), metav1.DeleteOptions{},
		metav1.ListOptions{LabelSelector: v1alpha1.LabelInventory + "," + v1alpha1.LabelGraph + "=" + name})
	if err != nil {
		b.t.Fatal(err)
	}
}

func TestTwoRuns(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	var nodes []string
	for i := range 20 {
		nodes = append(nodes, configMap(fmt.Sprintf("n%d", i), fmt.Sprintf("n%d", i), "x"))
	}
	graph := b.graph("g", `nodes: [`+strings.Join(nodes, ", ")+`]`)
	options := b.options
	options.Report = nil
	errs := make(chan error)
	for range 3 {
		go func() {
			result, err := b.applier.Apply(t.Context(), graph, options)
			if err == nil && result.Phase != engine.Completed {
				err = fmt.Errorf("phase %s", result.Phase) // the runs once treated each other's objects as foreign
			}
			errs <- err
		}()
	}
	for range 3 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	b.complete(graph)
	if got := strings.Count(b.owned("g"), "ConfigMap"); got != 20 {
		t.Errorf("%d entries in the inventory; want 20", got)
	}
	b.complete(b.graph("g", `nodes: [`+nodes[0]+`]`))
	b.wantOwned("g", "ConfigMap n0")
	b.wantExists("v1", "ConfigMap", false, "n1", "n19")
}
