package applier_test

import (
	"strings"
	"testing"

	"github.com/pequod-io/pequod/applier/engine"
)

const deployment = `
- id: web
  resource:
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web}
    spec:
      replicas: 2
      selector: {matchLabels: {app: web}}
      template:
        metadata: {labels: {app: web}}
        spec: {containers: [{name: web, image: web}]}
`

func TestCreateMode(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.Cluster.Apply(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: theirs}, data: {a: theirs}}`)
	graph := `
nodes:
- {id: theirs, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: theirs}, data: {a: ours}}, applyPolicy: {mode: Create}}
- {id: ours, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: ours}, data: {a: first}}, applyPolicy: {mode: Create}}
- {id: goes, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: goes}, data: {a: x}}, applyPolicy: {mode: Create, deletionPolicy: Delete}}
- {id: rest, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: rest}}}
`
	b.wantOps(b.complete(b.graph("g", graph)), "theirs unchanged, ours created, goes created, rest created")
	b.patch("v1", "ConfigMap", "ours", "kubectl-edit", `{"data":{"a":"edited"}}`)
	b.wantOps(b.complete(b.graph("g", strings.Replace(graph, "first", "second", 1))), "theirs unchanged, ours unchanged, goes unchanged, rest unchanged")
	b.wantValue("v1", "ConfigMap", "theirs", "data.a", "theirs")
	b.wantValue("v1", "ConfigMap", "ours", "data.a", "edited")

	// A created object is kept unless the policy says otherwise; one that existed before
	// is never touched.
	b.complete(b.graph("g", `nodes: [{id: rest, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: rest}}}]`))
	b.wantExists("v1", "ConfigMap", true, "theirs", "ours", "rest")
	b.wantExists("v1", "ConfigMap", false, "goes")
}

func TestConflicts(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	graph := `nodes: [{id: c, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: "1"}}, applyPolicy: {conflictPolicy: Error}}]`
	b.complete(b.graph("g", graph))
	b.patch("v1", "ConfigMap", "c", "injector", `{"data":{"b":"theirs"}}`)
	claims := strings.Replace(graph, `a: "1"`, `a: "1", b: ours`, 1)
	result := b.stuck(b.graph("g", claims), "c", engine.ReasonConflict, "data.b is owned by injector")
	b.wantValue("v1", "ConfigMap", "c", "data.b", "theirs")
	if result.Statuses[0].Attempts == 0 {
		t.Error("no attempt was counted")
	}
	b.wantOps(b.complete(b.graph("g", strings.Replace(claims, "Error", "Force", 1))), "c configured")
	b.wantValue("v1", "ConfigMap", "c", "data.b", "ours")

	// ForceConflicts applies to one run.
	b.patch("v1", "ConfigMap", "c", "injector", `{"data":{"c":"theirs"}}`)
	claims = strings.Replace(graph, `a: "1"`, `a: "1", b: ours, c: ours`, 1)
	b.stuck(b.graph("g", claims), "c", engine.ReasonConflict, "data.c is owned by injector")
	b.options.ForceConflicts = true
	b.complete(b.graph("g", claims))
	b.wantValue("v1", "ConfigMap", "c", "data.c", "ours")
}

func TestIgnoreFields(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	graph := `
nodes:
- id: c
  resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: c, annotations: {"a.b/c": ours}}, data: {a: "1", theirs: ours}}
  applyPolicy: {ignoreFields: [data.theirs, 'metadata.annotations["a.b/c"]']}
`
	b.complete(b.graph("g", graph))
	b.wantValue("v1", "ConfigMap", "c", "data.theirs", "ours")
	// They have no other manager, and stay when something else changes.
	b.wantOps(b.complete(b.graph("g", strings.Replace(graph, `a: "1"`, `a: "2"`, 1))), "c configured")
	b.wantValue("v1", "ConfigMap", "c", "data.theirs", "ours")
	b.patch("v1", "ConfigMap", "c", "injector", `{"data":{"theirs":"theirs"},"metadata":{"annotations":{"a.b/c":"theirs"}}}`)
	b.wantOps(b.complete(b.graph("g", strings.Replace(graph, `a: "1"`, `a: "2"`, 1))), "c unchanged")
	b.wantOps(b.complete(b.graph("g", strings.Replace(graph, `a: "1"`, `a: "3"`, 1))), "c configured")
	b.wantValue("v1", "ConfigMap", "c", "data.theirs", "theirs")
	b.wantValue("v1", "ConfigMap", "c", `metadata.annotations["a.b/c"]`, "theirs")
	b.wantValue("v1", "ConfigMap", "c", "data.a", "3")
}

// TestAutoscaler scales through the subresource, like the horizontal Pod autoscaler.
func TestAutoscaler(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	scale := func(manager, replicas string) {
		b.patchScale("web", manager, replicas)
	}
	b.complete(b.graph("g", "nodes:"+deployment))
	scale("kube-controller-manager", "5")
	b.complete(b.graph("g", "nodes:"+deployment))
	b.wantValue("apps/v1", "Deployment", "web", "spec.replicas", 5)
	b.wantOps(b.complete(b.graph("g", "nodes:"+deployment)), "web unchanged")
	b.complete(b.graph("g", "nodes:"+strings.Replace(deployment, "image: web", "image: web:2", 1)))
	b.wantValue("apps/v1", "Deployment", "web", "spec.replicas", 5)

	// A graph that no longer sets replicas keeps the number until an autoscaler
	// changes it.
	b2 := newEnv(t)
	b2.complete(b2.graph("g", "nodes:"+deployment))
	b2.wantOps(b2.complete(b2.graph("g", "nodes:"+strings.Replace(deployment, "replicas: 2", "paused: false", 1))), "web configured")
	b2.wantValue("apps/v1", "Deployment", "web", "spec.replicas", 2)
	b2.patchScale("web", "kube-controller-manager", "4")
	b2.wantOps(b2.complete(b2.graph("g", "nodes:"+strings.Replace(deployment, "replicas: 2", "paused: false", 1))), "web unchanged")
	b2.wantValue("apps/v1", "Deployment", "web", "spec.replicas", 4)

	// Scaling by hand is drift.
	b3 := newEnv(t)
	b3.complete(b3.graph("g", "nodes:"+deployment))
	b3.patchScale("web", "kubectl", "7")
	b3.wantOps(b3.complete(b3.graph("g", "nodes:"+deployment)), "web corrected")
	b3.wantValue("apps/v1", "Deployment", "web", "spec.replicas", 2)
}

func TestRecreate(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	graph := "nodes:" + deployment + "  applyPolicy: {recreate: Never}\n"
	b.complete(b.graph("g", graph))
	uid := b.Get(t, "apps/v1", "Deployment", "web").GetUID()
	changed := strings.ReplaceAll(graph, "app: web", "app: other")
	b.stuck(b.graph("g", changed), "web", engine.ReasonImmutable, "immutable")
	if got := b.Get(t, "apps/v1", "Deployment", "web").GetUID(); got != uid {
		t.Error("the Deployment was recreated")
	}
	b.wantOps(b.complete(b.graph("g", strings.Replace(changed, "Never", "OnImmutable", 1))), "web recreated")
	if got := b.Get(t, "apps/v1", "Deployment", "web").GetUID(); got == uid {
		t.Error("the Deployment was not recreated")
	}

	// Objects that hold data are never recreated.
	claim := `
nodes:
- id: claim
  resource: {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}
  applyPolicy: {recreate: OnImmutable}
`
	b.complete(b.graph("c", claim))
	b.stuck(b.graph("c", strings.Replace(claim, "ReadWriteOnce", "ReadWriteMany", 1)), "claim", engine.ReasonImmutable, "")
	b.wantExists("v1", "PersistentVolumeClaim", true, "data")
}
