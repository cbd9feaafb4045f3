package applier_test

import (
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/clustertest"
	"github.com/pequod-io/pequod/inventory/configmap"
)

func newApplier(t testing.TB, c *clustertest.Cluster) *applier.Applier {
	t.Helper()
	client, err := cluster.New(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	return &applier.Applier{Client: client, Inventories: configmap.NewStore(client.REST())}
}

func parse(t testing.TB, c *clustertest.Cluster, name, graph string) *v1alpha1.ResourceGraph {
	t.Helper()
	rg := &v1alpha1.ResourceGraph{}
	rg.Name, rg.Namespace = name, c.Namespace
	if err := yaml.UnmarshalStrict([]byte(graph), &rg.Spec.Graph); err != nil {
		t.Fatal(err)
	}
	rg.Spec.RenderHash = graph
	return rg
}

func TestSmoke(t *testing.T) {
	c := clustertest.Start(t)
	a := newApplier(t, c)
	rg := parse(t, c, "web", `
nodes:
- id: config
  resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: web}, data: {a: b}}
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
        spec: {containers: [{name: web, image: nginx}]}
  dependencies: [config]
- id: service
  resource: {apiVersion: v1, kind: Service, metadata: {name: web}, spec: {selector: {app: web}, ports: [{port: 80}]}}
- id: late
  resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: late}, data: {ip: {$from: service.spec.clusterIP}}}
  dependencies: [deployment]
outputs:
  ip: {$from: service.spec.clusterIP}
`)
	for range 2 {
		began := time.Now()
		result, err := a.Apply(t.Context(), rg, applier.Options{
			Options: engine.Options{Prune: true}, Timeout: 20 * time.Second, Wait: true,
			Report: func(e applier.Event) {
				t.Logf("%v %s %s %s %s %s", time.Since(began).Round(time.Millisecond), e.ID, e.Key, e.Phase, e.Op, e.Message)
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Log(result.Phase, result.Outputs, result.Unknown)
	}
}
