package controller_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/harness"
)

const (
	lostSecret  = `{id: secret, resource: {apiVersion: v1, kind: Secret, metadata: {name: left}, type: Opaque}}`
	lostAccount = `{id: account, resource: {apiVersion: v1, kind: ServiceAccount, metadata: {name: left}}}`
)

// A graph whose status was removed still knows its objects, also those of kinds that
// it doesn't list any more.
func TestLostInventory(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	b.start(b.Config)
	b.apply(b.rendered("web", nodes(configMap("a", "a", "1"), lostSecret)))
	b.apply(b.rendered("going", nodes(configMap("a", "going-a", "1"), lostAccount)))
	b.ready("web")
	b.ready("going")
	b.stop()
	for _, name := range []string{"web", "going"} {
		b.mergeStatus(name, map[string]any{"inventory": nil, "history": nil, "nodeStates": nil, "conditions": nil})
	}
	b.apply(b.rendered("web", nodes(configMap("a", "a", "1"))))
	b.remove("going")
	b.start(b.Config)
	b.gone("going")
	b.wantExists(false, "v1", "ConfigMap", "going-a")
	b.wantExists(false, "v1", "ServiceAccount", "left")
	b.event("going", "InventoryLost", "found 2 objects")
	b.eventually("the Secret is pruned", func(ctx ctx) bool { return !b.exists(ctx, "v1", "Secret", "left") })
	if got := owned(b.ready("web")); got != "ConfigMap a" {
		t.Errorf("inventory: %s", got)
	}
	b.event("web", "InventoryLost", "found 1 object")
}

// A graph that lost its inventory finds also objects of kinds that only another version
// of their API group has than the preferred one.
func TestLostInventoryOfOtherVersions(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	const group = "othertest.example.com"
	namespaced := strings.Replace(boxes, "Cluster", "Namespaced", 1)
	b.define(group, namespaced)
	b.defineAs("bins."+group, strings.NewReplacer("boxes", "bins", "box", "bin", "Box", "Bin", "name: v1,", "name: v1alpha1,").Replace(namespaced), group)
	b.start(b.Config)
	bin := `{id: bin, resource: {apiVersion: ` + group + `/v1alpha1, kind: Bin, metadata: {name: bin}}}`
	b.apply(b.rendered("going", nodes(bin, configMap("a", "going-a", "1"))))
	b.ready("going")
	b.stop()
	b.mergeStatus("going", map[string]any{"inventory": nil, "history": nil, "nodeStates": nil, "conditions": nil})
	b.remove("going")
	b.start(b.Config)
	b.gone("going")
	b.wantExists(false, group+"/v1alpha1", "Bin", "bin")
	b.event("going", "InventoryLost", "found 2 objects")
}

// A graph that lost its inventory finds also the objects of nodes with a field manager of
// their own, and says which objects it leaves alone.
func TestLostInventoryOfOtherManagers(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	b.start(b.Config)
	const policy = `, applyPolicy: {fieldManager: team}}`
	own := func(id, name string) string { return strings.TrimSuffix(configMap(id, name, "1"), "}") + policy }
	b.apply(b.rendered("going", nodes(configMap("a", "going-a", "1"), own("b", "going-b"))))
	b.ready("going")
	b.stop()
	b.mergeStatus("going", map[string]any{"inventory": nil, "history": nil, "nodeStates": nil, "conditions": nil})
	b.Apply(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: copy, labels: {pequod.io/managed: "true", pequod.io/graph: going, pequod.io/graph-namespace: `+b.Namespace+`}}}`)
	b.remove("going")
	b.start(b.Config)
	b.gone("going")
	b.wantExists(false, "v1", "ConfigMap", "going-a", "going-b")
	b.wantExists(true, "v1", "ConfigMap", "copy")
	b.event("going", "InventoryLost", "left alone 1 object with its labels that other field managers applied, such as ConfigMap "+b.Namespace+"/copy")
}

// A graph to which a former leader adds the finalizer just before this one has the objects that the former leader
// created, also those that it doesn't list any more.
func TestFinalizerOfFormerLeader(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	proxy := b.Proxy(t, 1)
	writes := []string{"patch"}
	graphs := []string{"resourcegraphs." + v1alpha1.GroupVersion.Group}
	proxy.Inject(faults.Rule{Verbs: writes, Resources: graphs, Times: 1, Faults: []faults.Fault{faults.Delay{For: 10 * time.Second}}})
	b.start(proxy.Config(b.Config))
	left := &unstructured.Unstructured{}
	left.SetAPIVersion("v1")
	left.SetKind("ConfigMap")
	left.SetName("left")
	left.SetLabels(inventory.Owner{Namespace: b.Namespace, Name: "web"}.Labels())
	if _, err := b.resource("v1", "ConfigMap").Apply(t.Context(), "left", left, metav1.ApplyOptions{FieldManager: engine.FieldManager}); err != nil {
		t.Fatal(err)
	}
	b.apply(b.rendered("web", nodes(configMap("a", "a", "1"))))
	b.eventually("this one is about to add the finalizer", func(ctx) bool {
		return proxy.Count(func(r faults.Request) bool { return r.Verb == writes[0] && r.Resource == graphs[0] }) > 0
	})
	b.merge("web", `{"metadata":{"finalizers":["`+v1alpha1.Finalizer+`"]}}`)
	b.eventually("it is pruned", func(ctx ctx) bool { return !b.exists(ctx, "v1", "ConfigMap", "left") })
	if got := owned(b.ready("web")); got != "ConfigMap a" {
		t.Errorf("inventory: %s", got)
	}
}
