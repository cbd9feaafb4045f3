package applier_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier"
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
