package controller_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/test/faults"
)

// graphStatuses is the resource of the statuses of graphs, as the proxy reports it.
const graphStatuses = "resourcegraphs.platform.pequod.io/status"

// The first run of a graph writes objects before an inventory is recorded. If it is
// interrupted, the next run knows these objects nevertheless.
func TestFirstRunIsInterrupted(t *testing.T) {
	t.Parallel()
	// Only what is remembered or searched for leads to an object of another kind.
	both := nodes(`{id: a, resource: {apiVersion: v1, kind: ServiceAccount, metadata: {name: a}}}`, configMap("b", "b", "1"))
	one := nodes(configMap("b", "b", "1"))
	unrecorded := func(t *testing.T) (*env, *faults.Proxy) {
		b, proxy := proxied(t)
		proxy.Inject(faults.Rule{Verbs: []string{"patch"}, Resources: []string{graphStatuses}, Faults: []faults.Fault{faults.Status{Code: 500}}})
		b.apply(b.rendered("web", both))
		b.eventually("created", func(ctx ctx) bool {
			return b.exists(ctx, "v1", "ServiceAccount", "a") && b.exists(ctx, "v1", "ConfigMap", "b")
		})
		return b, proxy
	}
	leaves := func(b *env) {
		b.t.Helper()
		b.ready("web")
		b.eventually("pruned", func(ctx ctx) bool { return !b.exists(ctx, "v1", "ServiceAccount", "a") })
		b.wantExists(true, "v1", "ConfigMap", "b")
	}
	t.Run("the graph is changed", func(t *testing.T) {
		t.Parallel()
		b, proxy := unrecorded(t)
		b.apply(b.rendered("web", one))
		proxy.Inject()
		leaves(b)
	})
	t.Run("the graph is suspended and changed", func(t *testing.T) {
		t.Parallel()
		b, proxy := unrecorded(t)
		b.merge("web", `{"spec":{"suspend":true}}`)
		proxy.Inject()
		b.until("web", condition("Ready", "Unknown", "Suspended", ""))
		b.apply(b.rendered("web", one))
		b.merge("web", `{"spec":{"suspend":false}}`)
		leaves(b)
	})
	t.Run("the applier is restarted", func(t *testing.T) {
		t.Parallel()
		b, proxy := unrecorded(t)
		b.stop()
		b.apply(b.rendered("web", one))
		proxy.Inject()
		b.start(proxy.Config(b.applierConfig()))
		leaves(b)
	})
	t.Run("the graph is deleted", func(t *testing.T) {
		t.Parallel()
		b, proxy := unrecorded(t)
		b.remove("web")
		proxy.Inject()
		b.gone("web")
		b.wantExists(false, "v1", "ServiceAccount", "a")
		b.wantExists(false, "v1", "ConfigMap", "b")
	})
}

// A run that takes long records its inventory before it ends.
func TestLongFirstRunIsRecorded(t *testing.T) {
	t.Parallel()
	b, _ := proxied(t)
	b.apply(b.rendered("web", nodes(configMap("a", "a", "1"),
		`{id: b, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}, readyWhen: [{type: Expression, expr: "has(object.data)"}]}`)))
	b.until("web", func(rg *v1alpha1.ResourceGraph) error {
		if in := rg.Status.Inventory; in == nil || len(in.Entries) != 2 {
			return fmt.Errorf("the inventory is %+v", in)
		}
		return nil
	})
}

// Of new graphs, it has to be found out whether pequod apply has stored inventories.
func TestGraphsCreatedTogetherReadInventoriesTogether(t *testing.T) {
	t.Parallel()
	const graphs = 20
	b, proxy := proxied(t)
	lists := func(r faults.Request) bool { return r.Verb == "list" && r.Resource == "configmaps" && !r.Continues }
	// While one read takes its time, all the others ask.
	proxy.Inject(faults.Rule{Verbs: []string{"list"}, Resources: []string{"configmaps"}, Namespaces: []string{b.Namespace}, Times: 2,
		Faults: []faults.Fault{faults.Delay{For: 3 * time.Second}}})
	for i := range graphs {
		name := fmt.Sprintf("g%d", i)
		b.apply(b.rendered(name, nodes(configMap("a", name, "1"))))
	}
	for i := range graphs {
		b.ready(fmt.Sprintf("g%d", i))
	}
	if n := proxy.Count(lists); n == 0 || n >= graphs {
		t.Errorf("%d graphs that were created together list ConfigMaps %d times", graphs, n)
	}
}
