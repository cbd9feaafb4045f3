package applier_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/harness"
)

const threeLevels = `
nodes:
- id: a
  resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
- id: b
  resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}
  dependencies: [a]
- id: c
  resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: c}}
  dependencies: [b]
- id: kept
  resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: kept}}
  applyPolicy: {deletionPolicy: Orphan}
- id: volume
  resource:
    apiVersion: v1
    kind: PersistentVolumeClaim
    metadata: {name: volume}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
  readyWhen: [{type: Exists}]
`

// with returns the options of an env with a report.
func (b *env) with(report func(applier.Event)) applier.Options {
	o := b.options
	o.PollInterval, o.Report = time.Second, report
	return o
}

// configMaps returns the ConfigMaps of the test's namespace that Kubernetes didn't
// create: by name, the graph that their labels name.
func configMaps(t *testing.T, c *harness.Cluster) map[string]string {
	t.Helper()
	list, err := c.Client.CoreV1().ConfigMaps(c.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	for _, item := range list.Items {
		if item.Name != "kube-root-ca.crt" {
			names[item.Name] = item.Labels["pequod.io/graph"]
		}
	}
	return names
}

// The objects of a graph are deleted in reverse order, with an inventory and with a
// recovered one.
func TestDeleteInventories(t *testing.T) {
	for _, test := range []struct {
		name   string
		lose   bool
		levels []string
	}{
		{"with its inventory", false, []string{"c", "b", "a"}},
		{"without its inventory", true, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newEnv(t)
			c, a, rg := b.Cluster, b.applier, b.graph("web", threeLevels)
			owner := inventory.Owner{Namespace: rg.Namespace, Name: rg.Name}
			if _, err := a.Apply(t.Context(), rg, b.with(nil)); err != nil {
				t.Fatal(err)
			}
			// A copy of an object has its labels and doesn't belong to the graph.
			copied := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "copy", Labels: owner.Labels()}}
			if _, err := c.Client.CoreV1().ConfigMaps(c.Namespace).Create(t.Context(), copied, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			if test.lose {
				if err := c.Client.CoreV1().ConfigMaps(c.Namespace).Delete(t.Context(), "pequod-inventory-web", metav1.DeleteOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			var gone []string
			result, err := a.Delete(t.Context(), owner, b.with(func(e applier.Event) {
				if e.Op == engine.Deleted && e.Phase == "Gone" {
					gone = append(gone, e.Key.Name)
				}
			}))
			if err != nil || result.Phase != engine.Completed {
				t.Fatal(result, err)
			}
			if test.levels != nil {
				if diff := cmp.Diff(test.levels, gone); diff != "" {
					t.Errorf("order (-want +got):\n%s", diff)
				}
			}
			want := map[string]string{"copy": "web"}
			if !test.lose {
				want["kept"] = "" // the policy of the node was in the inventory
			}
			if diff := cmp.Diff(want, configMaps(t, c)); diff != "" {
				t.Errorf("left (-want +got):\n%s", diff)
			}
			claim, err := c.Client.CoreV1().PersistentVolumeClaims(c.Namespace).Get(t.Context(), "volume", metav1.GetOptions{})
			if err != nil || claim.Labels["pequod.io/graph"] != "" {
				t.Errorf("volume: %v %v", claim.Labels, err)
			}
			again, err := a.Delete(t.Context(), owner, b.with(nil))
			if err != nil || again.Phase != engine.Completed || len(again.Statuses) > 0 {
				t.Errorf("again: %v %v", again, err)
			}
		})
	}
}

// Objects that are gone when their deletion is answered are neither watched nor listed
// a second time.
func TestRequestsOfADeletion(t *testing.T) {
	const objects = 20
	c := harness.Start(t)
	proxy := c.Proxy(t, 1)
	b := envOn(t, c, proxy.Config(c.Config))
	var many []string
	for i := range objects {
		many = append(many, fmt.Sprintf("{id: n%d, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: n%d}}}", i, i))
	}
	rg := b.graph("g", "nodes: ["+strings.Join(many, ", ")+"]")
	b.complete(rg)
	proxy.Reset()
	if result, err := b.applier.Delete(t.Context(), inventory.Owner{Namespace: rg.Namespace, Name: rg.Name}, b.options); err != nil || result.Phase != engine.Completed {
		t.Fatal(result, err)
	}
	for _, r := range proxy.Requests() {
		if r.Verb == "watch" {
			t.Errorf("%s are watched", r.Resource)
		}
	}
	// The inventory and the objects are listed, and then the claims of other graphs.
	if n := proxy.Count(func(r faults.Request) bool { return r.Verb == "list" && r.Resource == "configmaps" }); n > 3 {
		t.Errorf("ConfigMaps are listed %d times", n)
	}
}

// A deletion notices what its watches don't report: they are silent, or the account may only
// get objects. Silent watches cost lists and no request for each object.
func TestDeleteWithoutWatches(t *testing.T) {
	const objects = 30
	for name, c := range map[string]struct {
		rule faults.Rule
		gets int // that are sure to be enough
	}{
		"silent":    {faults.Rule{Verbs: []string{"watch"}, Faults: []faults.Fault{faults.Stall{}}}, objects / 10},
		"forbidden": {faults.Rule{Verbs: []string{"watch", "list"}, Faults: []faults.Fault{faults.Status{Code: http.StatusForbidden}}}, 100 * objects},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cl := harness.Start(t)
			proxy := cl.Proxy(t, 1)
			b := envOn(t, cl, proxy.Config(cl.Config))
			b.applier.Client.Propagation = cluster.Foreground
			var many []string
			for i := range objects {
				many = append(many, fmt.Sprintf("{id: n%d, resource: {apiVersion: v1, kind: ServiceAccount, metadata: {name: n%d, finalizers: [example.com/hold]}}}", i, i))
			}
			rg := b.graph("g", "nodes: ["+strings.Join(many, ", ")+"]")
			b.complete(rg)
			proxy.Reset()
			c.rule.Resources = []string{"serviceaccounts"}
			proxy.Inject(c.rule)
			deleting := map[string]bool{}
			result, err := b.applier.Delete(t.Context(), inventory.Owner{Namespace: rg.Namespace, Name: rg.Name}, b.with(func(e applier.Event) {
				if e.Phase != v1alpha1.NodeDeleting || deleting[e.Key.Name] {
					return
				}
				deleting[e.Key.Name] = true
				if len(deleting) == objects { // the watches have begun
					time.AfterFunc(3*time.Second, func() {
						for name := range deleting {
							if _, err := cl.Client.CoreV1().ServiceAccounts(cl.Namespace).Patch(context.Background(), name, types.MergePatchType,
								[]byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
								t.Error(err)
							}
						}
					})
				}
			}))
			if err != nil || result.Phase != engine.Completed {
				t.Fatal(result, err)
			}
			gets := proxy.Count(func(r faults.Request) bool { return r.Verb == "get" && r.Resource == "serviceaccounts" })
			lists := proxy.Count(func(r faults.Request) bool { return r.Verb == "list" && r.Resource == "serviceaccounts" })
			t.Logf("%d gets, %d lists", gets, lists)
			if gets > c.gets {
				t.Errorf("%d gets and %d lists; want at most %d gets", gets, lists, c.gets)
			}
		})
	}
}

// An object with a finalizer keeps the levels below it, unless the run doesn't wait.
func TestDeleteWithFinalizer(t *testing.T) {
	b := newEnv(t)
	c, a, rg := b.Cluster, b.applier, b.graph("web", threeLevels)
	owner := inventory.Owner{Namespace: rg.Namespace, Name: rg.Name}
	if _, err := a.Apply(t.Context(), rg, b.with(nil)); err != nil {
		t.Fatal(err)
	}
	c.Apply(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: b, finalizers: [example.com/hold]}}`)
	o := b.with(nil)
	o.Wait = false
	result, err := a.Delete(t.Context(), owner, o)
	if err != nil || result.Phase != engine.Pruning {
		t.Fatal(result, err)
	}
	for _, s := range result.Statuses {
		if s.Key.Name == "b" && s.Message != "is being deleted, held by finalizer example.com/hold" {
			t.Errorf("message %q", s.Message)
		}
	}
	inv, err := a.Inventories.Load(t.Context(), owner)
	if err != nil || len(inv.Entries) == 0 || inv.Complete {
		t.Errorf("inventory %v %v", inv, err)
	}
	if left := configMaps(t, c); left["a"] != "" {
		t.Errorf("a was kept: %v", left)
	}
	c.Apply(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: b, finalizers: []}}`)
	if result, err := a.Delete(t.Context(), owner, b.with(nil)); err != nil || result.Phase != engine.Completed {
		t.Error(result, err)
	}
	if diff := cmp.Diff(map[string]string{"kept": ""}, configMaps(t, c)); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}

// With Orphan every object stays, without the graph's labels.
func TestDeleteOrphan(t *testing.T) {
	b := newEnv(t)
	c, a, rg := b.Cluster, b.applier, b.graph("web", threeLevels)
	owner := inventory.Owner{Namespace: rg.Namespace, Name: rg.Name}
	if _, err := a.Apply(t.Context(), rg, b.with(nil)); err != nil {
		t.Fatal(err)
	}
	o := b.with(nil)
	o.Orphan = true
	result, err := a.Delete(t.Context(), owner, o)
	if err != nil || result.Phase != engine.Completed {
		t.Fatal(result, err)
	}
	for _, s := range result.Statuses {
		if s.Op != engine.Released || s.Phase != v1alpha1.NodeGone {
			t.Errorf("%s: %s, %s", s.Key, s.Phase, s.Op)
		}
	}
	want := map[string]string{"a": "", "b": "", "c": "", "kept": ""}
	if diff := cmp.Diff(want, configMaps(t, c)); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}

// A missing namespace ends a run at once with an error.
func TestNoNamespace(t *testing.T) {
	b := newEnv(t)
	c, a, rg := b.Cluster, b.applier, b.graph("web", threeLevels)
	rg.Namespace = c.Unique("nowhere")
	_, err := a.Apply(t.Context(), rg, b.with(nil))
	want := "inventory of " + rg.Namespace + "/web: namespace " + rg.Namespace + " doesn't exist; create it with 'kubectl create namespace " + rg.Namespace + "'"
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// A run on a slow API server sends hardly more requests than on a fast one: while it waits, it
// relies on its watches.
func TestRequestsOnASlowServer(t *testing.T) {
	const stacks = 100
	c := harness.Start(t)
	proxy := c.Proxy(t, 1)
	b := envOn(t, c, proxy.Config(c.Config))
	b.options.PollInterval, b.options.ExplainInterval, b.options.Timeout = 30*time.Second, 0, 5*time.Minute
	b.applier.Client.Propagation = cluster.Foreground // as pequod delete does by default
	var nodes []string
	for i := range stacks {
		nodes = append(nodes, fmt.Sprintf(`
- {id: account-%[1]d, resource: {apiVersion: v1, kind: ServiceAccount, metadata: {name: n%[1]d}}}
- {id: config-%[1]d, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: n%[1]d}}}
- {id: service-%[1]d, resource: {apiVersion: v1, kind: Service, metadata: {name: n%[1]d}, spec: {selector: {app: n%[1]d}, ports: [{port: 80}]}}}
- id: web-%[1]d
  resource:
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: n%[1]d}
    spec:
      replicas: 1
      selector: {matchLabels: {app: n%[1]d}}
      template: {metadata: {labels: {app: n%[1]d}}, spec: {containers: [{name: web, image: "web:1"}]}}`, i))
	}
	rg := b.graph("g", "nodes:"+strings.Join(nodes, ""))
	proxy.Inject(faults.Rule{Faults: []faults.Fault{faults.Delay{For: 50 * time.Millisecond}}})
	check := func(what string) {
		t.Helper()
		n := proxy.Count(func(faults.Request) bool { return true })
		t.Logf("%s: %d requests", what, n)
		if most := 4 * stacks * 11 / 10; n > most {
			t.Errorf("%s: %d requests; want at most %d: %v", what, n, most, proxy.Counts())
		}
		proxy.Reset()
	}
	b.complete(rg)
	check("apply")
	o := b.options
	o.PollInterval = time.Second
	if result, err := b.applier.Delete(t.Context(), inventory.Owner{Namespace: rg.Namespace, Name: rg.Name}, o); err != nil || result.Phase != engine.Completed {
		t.Fatal(result, err)
	}
	check("delete")
}
