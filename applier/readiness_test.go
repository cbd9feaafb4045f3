package applier_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/engine"
)

func TestReadinessChecks(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.complete(b.graph("g", `
nodes:
- id: exists
  resource: {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}
  readyWhen: [{type: Exists}]
  applyPolicy: {deletionPolicy: Delete}
- id: balancer
  resource: {apiVersion: v1, kind: Service, metadata: {name: lb}, spec: {type: LoadBalancer, ports: [{port: 80}]}}
  readyWhen: [{type: ServiceLoadBalancerReady}]
- id: job
  resource:
    apiVersion: batch/v1
    kind: Job
    metadata: {name: job}
    spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: "c"}]}}}
  readyWhen: [{type: JobComplete}]
- id: condition
  resource:
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web}
    spec:
      selector: {matchLabels: {app: web}}
      template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: "c:ready-after-1s"}]}}
  readyWhen: [{type: ConditionMatch, conditionType: Available}, {type: DeploymentAvailable}, {type: Expression, expr: object.status.readyReplicas == 1}]
- {id: external, externalRef: {apiVersion: v1, kind: ServiceAccount, name: default}}
- id: after
  resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: after}}
  dependencies: [exists, balancer, job, condition, external]
`))
	b.wantOrder("job", "after")
	b.wantOrder("balancer", "after")
	b.wantOrder("condition", "after")
	// A change of an external object is awaited as well.
	go func() {
		b.eventually("the run waits", func(context.Context) bool { return b.exists("v1", "ConfigMap", "first") })
		b.Cluster.Apply(b.t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: theirs}}`)
	}()
	b.complete(b.graph("waits", `
nodes:
- {id: theirs, externalRef: {apiVersion: v1, kind: ConfigMap, name: theirs}, dependencies: [first]}
- {id: first, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: first}}}
- {id: after, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: afterwards}}, dependencies: [theirs]}
`))
	b.wantOwned("waits", "ConfigMap afterwards, ConfigMap first")
}

// A suspended Job is as its author wants it: it blocks nothing, unless the node waits
// for its completion.
func TestSuspendedJob(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	const graph = `
nodes:
- id: job
  resource:
    apiVersion: batch/v1
    kind: Job
    metadata: {name: job}
    spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: c, image: "c"}]}}}
  applyPolicy: {timeout: 10s}
- {id: after, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: after}}, dependencies: [job]}
`
	b.complete(b.graph("g", graph))
	b.wantExists("v1", "ConfigMap", true, "after")
	b.wantOps(b.complete(b.graph("g", strings.Replace(graph, "suspend: true", "suspend: false", 1))), "job configured, after unchanged")

	waits := b.graph("waits", strings.NewReplacer("name: job", "name: other", "name: after", "name: never",
		"timeout: 10s}", "timeout: 2s}\n  readyWhen: [{type: JobComplete}]").Replace(graph))
	b.stuck(waits, "job", engine.ReasonReadinessTimeout, "is suspended")
	b.wantExists("v1", "ConfigMap", false, "never")
}

func TestNotReady(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	result := b.stuck(b.graph("g", `
nodes:
- id: image
  resource:
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web}
    spec:
      selector: {matchLabels: {app: web}}
      template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: "c:missing"}]}}
  applyPolicy: {timeout: 3s}
- id: job
  resource:
    apiVersion: batch/v1
    kind: Job
    metadata: {name: job}
    spec: {backoffLimit: 0, template: {spec: {restartPolicy: Never, containers: [{name: c, image: "c:exit-3"}]}}}
  readyWhen: [{type: JobComplete}]
- {id: behind, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: behind}}, dependencies: [job]}
- {id: far, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: far}}, dependencies: [behind]}
- {id: free, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: free}}}
`), "image", engine.ReasonReadinessTimeout, "not ready in 3s")
	if s := status(result, "image"); !strings.Contains(s.Message, "c:missing") {
		t.Errorf("image: %q; want the image in it", s.Message)
	}
	if s := status(result, "job"); s.Phase != v1alpha1.NodeFailed || s.Reason != engine.ReasonNotReady {
		t.Errorf("job: %s %s %s", s.Phase, s.Reason, s.Message)
	}
	for id, want := range map[string]string{"behind": "waits for job, which failed", "far": "waits for behind, which waits for job, which failed"} {
		if s := status(result, id); s.Phase != v1alpha1.NodeBlocked || s.Message != want {
			t.Errorf("%s: %s %q; want Blocked, %q", id, s.Phase, s.Message, want)
		}
	}
	b.wantExists("v1", "ConfigMap", true, "free")
	b.wantExists("v1", "ConfigMap", false, "behind", "far")
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	graph := b.graph("g", `
nodes:
- id: web
  resource:
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web}
    spec:
      selector: {matchLabels: {app: web}}
      template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: "c:never-ready"}]}}
`)
	// The cause is reported while the run waits.
	ctx, said := context.WithCancel(t.Context())
	defer said()
	options := b.options
	options.Report = func(e applier.Event) {
		if e.Phase == v1alpha1.NodeProgressing && strings.Contains(e.Message, "0 of 1 replica available: pod web-") {
			said()
		}
	}
	if _, err := b.applier.Apply(ctx, graph, options); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v; want that it was said", err)
	}
	b.wantOwned("g", "Deployment web") // the results are recorded

	b.options.Timeout = time.Second
	result, err := b.applier.Apply(t.Context(), graph, b.options)
	if !errors.Is(err, applier.ErrTimeout) || result.Phase != engine.Executing {
		t.Fatalf("%s, error %v; want timed out", result.Phase, err)
	}
	b.options.Timeout = 0

	b.options.Wait = false
	b.wantOps(b.run(graph), "web unchanged")
}

func TestDefinitionsAndNamespaces(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	group, ns := b.Unique("example")+".com", b.Unique("own")
	t.Cleanup(func() {
		_ = b.Client.CoreV1().Namespaces().Delete(context.Background(), ns, metav1.DeleteOptions{})
	})
	graph := b.graph("g", strings.NewReplacer("GROUP", group, "OWN", ns).Replace(`
nodes:
- {id: thing, resource: {apiVersion: GROUP/v1, kind: Thing, metadata: {name: t}, spec: {a: 1}}}
- id: crd
  resource:
    apiVersion: apiextensions.k8s.io/v1
    kind: CustomResourceDefinition
    metadata: {name: things.GROUP}
    spec:
      group: GROUP
      scope: Namespaced
      names: {kind: Thing, plural: things, singular: thing, listKind: ThingList}
      versions:
      - name: v1
        served: true
        storage: true
        schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}
  applyPolicy: {deletionPolicy: Delete}
- {id: inside, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: inside, namespace: OWN}}}
- {id: namespace, resource: {apiVersion: v1, kind: Namespace, metadata: {name: OWN}}, applyPolicy: {deletionPolicy: Delete}}
`))
	b.complete(graph)
	b.wantOps(b.complete(graph), "thing unchanged, crd unchanged, inside unchanged, namespace unchanged")
	// The garbage collector takes half a minute to discover a new kind.
	b.applier.Client.Propagation = cluster.Background
	result := b.delete("g")
	for _, s := range result.Statuses {
		if s.Op != engine.Deleted {
			t.Errorf("%s %s; want deleted", s.Key, s.Op)
		}
	}
}

func TestDelete(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.complete(b.graph("g", `
nodes:
- {id: a, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}}
- {id: held, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: held, finalizers: [example.com/hold]}}, dependencies: [a]}
- {id: top, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: top}}, dependencies: [held]}
- {id: stays, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: stays}}, applyPolicy: {deletionPolicy: Orphan}}
`))
	go func() {
		b.eventually("it is deleted", func(context.Context) bool { return !b.exists("v1", "ConfigMap", "held") })
		time.Sleep(500 * time.Millisecond)
		if !b.exists("v1", "ConfigMap", "a") {
			t.Error("a was deleted while what needs it was there")
		}
		b.patch("v1", "ConfigMap", "held", "other-manager", `{"metadata":{"finalizers":null}}`)
	}()
	b.wantOps(b.delete("g"), "top deleted, held deleted, a deleted, stays released")
	said := false
	for _, e := range b.events {
		said = said || e.Key.Name == "held" && strings.Contains(e.Message, "held by finalizer example.com/hold")
	}
	if !said {
		t.Error("nothing said who holds it")
	}
	b.wantExists("v1", "ConfigMap", false, "a", "top", "held")
	b.wantExists("v1", "ConfigMap", true, "stays")
	b.wantOwned("g", "")

	b.complete(b.graph("o", `nodes: [`+configMap("x", "x", "1")+`]`))
	b.options.Orphan = true
	b.wantOps(b.delete("o"), "x released")
	b.wantExists("v1", "ConfigMap", true, "x")
}
