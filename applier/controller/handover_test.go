package controller_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
	"github.com/pequod-io/pequod/inventory/stored"
	"github.com/pequod-io/pequod/test/harness"
)

// outside executes a graph as pequod apply does.
func (b *env) outside(rg *v1alpha1.ResourceGraph) *applier.Result {
	b.t.Helper()
	client, err := cluster.New(b.Config)
	if err != nil {
		b.t.Fatal(err)
	}
	a := &applier.Applier{Client: client, Inventories: stored.New(client.REST())}
	result, err := a.Apply(b.t.Context(), rg, applier.Options{Options: engine.Options{Prune: true, PollInterval: time.Second}, Wait: true, Timeout: time.Minute})
	if err != nil {
		b.t.Fatal(err)
	}
	if result.Phase != engine.Completed {
		b.t.Fatalf("phase %s: %+v", result.Phase, result.Statuses)
	}
	return result
}

func (b *env) inventory(name string) *inventory.Inventory {
	b.t.Helper()
	client, err := cluster.New(b.Config)
	if err != nil {
		b.t.Fatal(err)
	}
	inv, err := stored.New(client.REST()).Load(b.t.Context(), inventory.Owner{Namespace: b.Namespace, Name: name})
	if err != nil {
		b.t.Fatal(err)
	}
	return inv
}

func (b *env) uid(name string) string {
	b.t.Helper()
	return string(b.Get(b.t, "v1", "ConfigMap", name).GetUID())
}

func TestHandOver(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.outside(b.rendered("web", nodes(configMap("a", "a", "1"), configMap("b", "b", "1"), configMap("c", "c", "1"))))
	if inv := b.inventory("web"); !inv.Complete || len(inv.Entries) != 3 {
		t.Fatalf("inventory: %+v", inv)
	}
	a := b.uid("a")

	// From outside into the cluster: what left in between goes, the rest stays.
	b.apply(b.rendered("web", nodes(configMap("a", "a", "1"), configMap("b", "b", "2"))))
	rg := b.ready("web")
	if got, want := owned(rg), "ConfigMap a, ConfigMap b"; got != want {
		t.Errorf("inventory: %s; want %s", got, want)
	}
	b.wantExists(false, "v1", "ConfigMap", "c", "pequod-inventory-web")
	if b.uid("a") != a {
		t.Error("a was made anew")
	}

	// And back.
	b.merge("web", `{"spec":{"suspend":true}}`)
	b.until("web", isReady)
	result := b.outside(b.rendered("web", nodes(configMap("a", "a", "1"), configMap("d", "d", "1"))))
	for _, s := range result.Statuses {
		if s.ID == "a" && s.Op != engine.Unchanged {
			t.Errorf("a was %s", s.Op)
		}
	}
	b.wantExists(false, "v1", "ConfigMap", "b")
	rg, err := b.get(t.Context(), "web")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := owned(rg), "ConfigMap a, ConfigMap d"; got != want {
		t.Errorf("inventory: %s; want %s", got, want)
	}
	b.apply(b.rendered("web", nodes(configMap("a", "a", "1"))))
	b.merge("web", `{"spec":{"suspend":false}}`)
	b.until("web", func(rg *v1alpha1.ResourceGraph) error {
		if owned(rg) != "ConfigMap a" {
			return fmt.Errorf("inventory: %s", owned(rg))
		}
		return isReady(rg)
	})
	b.wantExists(false, "v1", "ConfigMap", "d")
	if b.uid("a") != a {
		t.Error("a was made anew")
	}
}

// Both ways give the same objects.
func TestSameStateBothWays(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.apply(b.rendered("in", webService))
	b.ready("in")
	b.outside(b.rendered("out", strings.NewReplacer("name: web", "name: out", "name: address", "name: out-address", "app: web", "app: out").Replace(webService)))
	for _, pair := range [][3]string{{"ConfigMap", "web", "out"}, {"Service", "web", "out"}, {"ConfigMap", "address", "out-address"}} {
		in, out := b.Get(t, "v1", pair[0], pair[1]), b.Get(t, "v1", pair[0], pair[2])
		fields := func(n int) string {
			obj := in
			if n > 0 {
				obj = out
			}
			var text []string
			for _, f := range obj.GetManagedFields() {
				text = append(text, f.Manager+" "+string(f.Operation)+" "+string(f.FieldsV1.GetRawBytes()))
			}
			return strings.Join(text, "\n")
		}
		if fields(0) != fields(1) {
			t.Errorf("%s: managed fields in the cluster\n%s\nfrom outside\n%s", pair[0], fields(0), fields(1))
		}
		if a, b := len(in.GetLabels()), len(out.GetLabels()); a != b {
			t.Errorf("%s: labels %v; %v", pair[0], in.GetLabels(), out.GetLabels())
		}
	}
}

// An inventory that doesn't fit in the status is in a ConfigMap, and comes back
// when it fits again.
func TestLargeGraph(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	b.start(b.Config)
	var many []string
	for i := range v1alpha1.MaxInventory + 10 {
		many = append(many, configMap(fmt.Sprintf("n%d", i), fmt.Sprintf("n%d", i), "1"))
	}
	b.apply(b.rendered("web", nodes(many...)))
	rg := b.ready("web")
	if in := rg.Status.Inventory; in.Count != len(many) || in.ConfigMap != "pequod-inventory-web" || len(in.Entries) != 0 || !in.Complete {
		t.Errorf("inventory: %d in %q, %d shown", in.Count, in.ConfigMap, len(in.Entries))
	}
	if n := len(rg.Status.NodeStates); n != v1alpha1.MaxNodeStates {
		t.Errorf("%d node states", n)
	}
	b.apply(b.rendered("web", nodes(many[:20]...)))
	rg = b.ready("web")
	if in := rg.Status.Inventory; in.Count != 20 || in.ConfigMap != "" || len(in.Entries) != 20 {
		t.Errorf("inventory: %d in %q, %d shown", in.Count, in.ConfigMap, len(in.Entries))
	}
	b.wantExists(false, "v1", "ConfigMap", "n21", "n509")
	// It goes after the status says where the inventory is.
	b.eventually("the ConfigMap goes", func(ctx ctx) bool { return !b.exists(ctx, "v1", "ConfigMap", "pequod-inventory-web") })
	b.apply(b.rendered("web", nodes(many...)))
	b.ready("web")
	b.remove("web")
	b.gone("web")
	b.wantExists(false, "v1", "ConfigMap", "pequod-inventory-web", "n0", "n509")
}
