package controller_test

import (
	"strings"
	"testing"

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
