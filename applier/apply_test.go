package applier_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
)

const webGraph = `
nodes:
- id: deployment
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
  dependencies: [config]
- id: config
  resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: web}, data: {a: b}}
- id: service
  resource: {apiVersion: v1, kind: Service, metadata: {name: web}, spec: {selector: {app: web}, ports: [{port: 80}]}}
- id: late
  resource:
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: late}
    data: {ip: {$from: service.spec.clusterIP}, ready: {$from: string(deployment.status.readyReplicas)}}
outputs:
  endpoint: {$from: "service.spec.clusterIP + ':80'"}
  fixed: 1
`

func TestApply(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	first := b.complete(b.graph("web", webGraph))
	b.wantOps(first, "deployment created, config created, service created, late created")
	ip := b.value("v1", "Service", "web", "spec.clusterIP")
	b.wantValue("v1", "ConfigMap", "late", "data.ip", ip)
	b.wantValue("v1", "ConfigMap", "late", "data.ready", 2)
	if diff := cmp.Diff(map[string]any{"endpoint": ip.(string) + ":80", "fixed": int64(1)}, first.Outputs); diff != "" {
		t.Errorf("outputs (-want +got):\n%s", diff)
	}
	b.wantOwned("web", "ConfigMap late, ConfigMap web, Deployment web, Service web")
	b.wantOrder("config", "deployment", "late")

	version := b.Get(t, "apps/v1", "Deployment", "web").GetResourceVersion()
	b.wantOps(b.complete(b.graph("web", webGraph)), "deployment unchanged, config unchanged, service unchanged, late unchanged")
	if after := b.Get(t, "apps/v1", "Deployment", "web").GetResourceVersion(); after != version {
		t.Errorf("an unchanged run wrote: version %s, was %s", after, version)
	}

	// A change is applied, and references to it are resolved again.
	changed := strings.Replace(webGraph, "replicas: 2", "replicas: 3", 1)
	b.wantOps(b.complete(b.graph("web", changed)), "deployment configured, config unchanged, service unchanged, late configured")
	b.wantValue("v1", "ConfigMap", "late", "data.ready", 3)

	// Drift is corrected.
	b.patch("v1", "ConfigMap", "web", "kubectl-edit", `{"data":{"a":"drifted"}}`)
	result := b.complete(b.graph("web", changed))
	b.wantOps(result, "deployment unchanged, config corrected, service unchanged, late unchanged")
	b.wantValue("v1", "ConfigMap", "web", "data.a", "b")
	if taken := status(result, "config").Taken; len(taken) != 1 || taken[0].Manager != "kubectl-edit" || taken[0].Field != "data.a" {
		t.Errorf("taken: %v; want data.a from kubectl-edit", taken)
	}
}

// wantOrder checks that each node was ready before the next one was applied.
func (b *env) wantOrder(ids ...string) {
	b.t.Helper()
	ready := map[string]bool{}
	for _, e := range b.events {
		if e.Phase == v1alpha1.NodeReady {
			ready[e.ID] = true
		}
		for i, id := range ids {
			if i > 0 && e.ID == id && e.Phase == v1alpha1.NodeApplying && !ready[ids[i-1]] {
				b.t.Errorf("%s was applied before %s was ready", id, ids[i-1])
			}
		}
	}
}

func TestReferences(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.stuck(b.graph("wrong", `
nodes:
- id: service
  resource: {apiVersion: v1, kind: Service, metadata: {name: svc}, spec: {ports: [{port: 80}]}}
- id: config
  resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {port: {$from: "service.spec.ports[0].port + 'x'"}}}
- {id: other, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: other}}}
`), "config", "ReferenceFailed", "resource.data.port: ")
	b.wantExists("v1", "ConfigMap", true, "other")
	b.wantExists("v1", "ConfigMap", false, "c")

	// A missing field is awaited, and resolved when it appears.
	go func() {
		b.eventually("object", func(context.Context) bool { return b.exists("v1", "ConfigMap", "source") })
		b.patch("v1", "ConfigMap", "source", "other-manager", `{"data":{"late":"came"}}`)
	}()
	b.complete(b.graph("waits", `
nodes:
- {id: source, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: source}}}
- {id: reader, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: reader}, data: {v: {$from: source.data.late}}}}
`))
	b.wantValue("v1", "ConfigMap", "reader", "data.v", "came")

	// A change during the run is resolved again.
	go func() {
		b.eventually("object", func(context.Context) bool { return b.exists("v1", "ConfigMap", "again") })
		b.patch("v1", "ConfigMap", "source", "other-manager", `{"data":{"late":"changed"}}`)
		b.eventually("the change", func(context.Context) bool { return b.value("v1", "ConfigMap", "again", "data.v") == "changed" })
		b.Cluster.Apply(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: gate}}`)
	}()
	b.complete(b.graph("again", `
nodes:
- {id: source, externalRef: {apiVersion: v1, kind: ConfigMap, name: source}, readyWhen: [{type: Expression, expr: "object.data.late != ''"}]}
- {id: again, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: again}, data: {v: {$from: source.data.late}}}}
- {id: gate, externalRef: {apiVersion: v1, kind: ConfigMap, name: gate}}
`))
}

func TestSecrets(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	secret := `
nodes:
- id: secret
  resource: {apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {password: {$generate: {length: 20, charset: numeric}}, user: me}}
  applyPolicy: {mode: Create}
`
	b.complete(b.graph("s", secret))
	password := b.value("v1", "Secret", "s", "data.password")
	if len(password.(string)) != 28 {
		t.Errorf("password: %d characters of base64; want 28", len(password.(string)))
	}
	// It is generated once.
	b.wantOps(b.complete(b.graph("s", strings.Replace(secret, "20", "30", 1))), "secret unchanged")
	b.wantValue("v1", "Secret", "s", "data.password", password)
	// It is kept when it leaves the graph.
	b.wantOps(b.complete(b.graph("s", `nodes: [{id: c, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: c}}}]`)), "c created, s released")
	b.wantValue("v1", "Secret", "s", "data.password", password)
	b.wantValue("v1", "Secret", "s", "metadata.labels", nil)

	// A key that leaves an applied Secret is removed, although it was written as
	// stringData.
	applied := `
nodes:
- id: secret
  resource: {apiVersion: v1, kind: Secret, metadata: {name: t}, stringData: {one: "1", two: "2"}}
`
	b.complete(b.graph("t", applied))
	b.complete(b.graph("t", strings.Replace(applied, `, two: "2"`, "", 1)))
	b.wantValue("v1", "Secret", "t", "data", map[string]any{"one": "MQ=="})

	// A graph with outputs that read a Secret is rejected.
	for _, expr := range []string{"secret.data.one", `secret["da" + "ta"].one`} {
		graph := b.graph("u", applied+"outputs: {leak: {$from: '"+expr+"'}}")
		var invalid *engine.InvalidError
		if _, err := b.applier.Apply(t.Context(), graph, applier.Options{}); !errors.As(err, &invalid) {
			t.Errorf("Apply with %s: %v; want an InvalidError", expr, err)
		}
	}
}

// A late reference to all labels or annotations of an object doesn't copy those of
// Pequod, which a resource may not spell out.
func TestCopiedMetadata(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.Apply(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: source, labels: {pequod.io/inventory: "true", pequod.io/paused: "true", pequod.io/instance: i, mine: l},
		annotations: {pequod.io/claimed-by: x/y, mine: a}}}`)
	b.complete(b.graph("g", `
nodes:
- {id: source, externalRef: {apiVersion: v1, kind: ConfigMap, name: source}}
- {id: copy, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: copy, labels: {$from: source.metadata.labels}, annotations: {$from: source.metadata.annotations}}}}`))
	copied := b.Get(t, "v1", "ConfigMap", "copy")
	want := inventory.Owner{Namespace: b.Namespace, Name: "g"}.Labels()
	want["mine"], want["pequod.io/instance"] = "l", "i"
	if diff := cmp.Diff(want, copied.GetLabels()); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"mine": "a"}, copied.GetAnnotations()); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
}
