package applier_test

import (
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/harness"
)

// An object that changed since the decision is removed only if it still belongs to the
// graph.
func TestRemovalOfChangedObjects(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	rg := b.graph("web", `nodes: [`+configMap("a", "a", "1")+`]`)
	owner := inventory.Owner{Namespace: b.Namespace, Name: "web"}
	for _, verb := range []engine.Verb{engine.Delete, engine.Release} {
		for _, test := range []struct {
			name   string
			change func()
			stays  string // the message for an object that isn't touched
		}{
			{"nothing", func() {}, ""},
			{"its data", func() { b.patch("v1", "ConfigMap", "a", "other", `{"data":{"b":"2"}}`) }, ""},
			{"its graph", func() {
				b.patch("v1", "ConfigMap", "a", "other", `{"metadata":{"labels":{"pequod.io/graph":"other"}}}`)
			}, "isn't the graph's any more"},
			{"everything", func() {
				if err := b.resource("v1", "ConfigMap").Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
					t.Fatal(err)
				}
				b.complete(rg)
			}, "was replaced by another object"},
		} {
			t.Run(string(verb)+" after a change of "+test.name, func(t *testing.T) {
				b.options.ForceConflicts = true
				_ = b.resource("v1", "ConfigMap").Delete(t.Context(), "a", metav1.DeleteOptions{}) // from the previous case
				b.complete(rg)
				was := b.Get(t, "v1", "ConfigMap", "a")
				test.change()
				before := b.Get(t, "v1", "ConfigMap", "a")
				o := b.applier.Client.Do(t.Context(), owner.Selector(), engine.Action{
					Verb: verb, Key: engine.KeyOf(was), Version: "v1", UID: was.GetUID(), ResourceVersion: was.GetResourceVersion(),
				})
				if test.stays != "" {
					var f *engine.Failure
					if !errors.As(o.Err, &f) || f.Terminal || !strings.Contains(f.Message, test.stays) {
						t.Errorf("error %v; want one that may pass, %q", o.Err, test.stays)
					}
					if after := b.Get(t, "v1", "ConfigMap", "a"); after.GetResourceVersion() != before.GetResourceVersion() {
						t.Error("it was touched")
					}
					return
				}
				switch {
				case o.Err != nil:
					t.Error(o.Err)
				case verb == engine.Delete:
					b.wantExists("v1", "ConfigMap", false, "a")
				default:
					b.wantValue("v1", "ConfigMap", "a", "metadata.labels", nil)
				}
			})
		}
	}
}

// An error of discovery is passed on.
func TestKindsRefused(t *testing.T) {
	t.Parallel()
	c := harness.Start(t)
	proxy := c.Proxy(t, 1)
	proxy.Inject(faults.Rule{Resources: []string{"/apis/apps/v1"}, Faults: []faults.Fault{faults.Status{Code: 403}}})
	b := envOn(t, c, proxy.Config(c.Config))
	_, err := b.applier.Client.Kinds().Find(t.Context(), schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"})
	if err == nil || !strings.Contains(err.Error(), "reading the kinds of apps/v1: ") || !strings.Contains(err.Error(), "fault proxy") {
		t.Errorf("error %v; want the server's own", err)
	}
}

// A name that would change the path of a request is rejected: it may come from an
// edited inventory.
func TestNamesWithPaths(t *testing.T) {
	t.Parallel()
	c := harness.Start(t)
	proxy := c.Proxy(t, 1)
	b := envOn(t, c, proxy.Config(c.Config))
	b.Cluster.Apply(t, `{apiVersion: v1, kind: Secret, metadata: {name: s}}`)
	uid := b.Get(t, "v1", "Secret", "s").GetUID()
	for _, verb := range []engine.Verb{engine.Read, engine.Delete, engine.Release, engine.Apply} {
		o := b.applier.Client.Do(t.Context(), "", engine.Action{
			Verb: verb, Key: inventory.Key{Kind: "ConfigMap", Namespace: b.Namespace, Name: "../secrets/s"}, Version: "v1", UID: uid,
			Apply: &engine.ApplyRequest{Object: map[string]any{}},
		})
		var f *engine.Failure
		if !errors.As(o.Err, &f) || !f.Terminal || f.Reason != engine.ReasonInvalid {
			t.Errorf("%s: %v", verb, o.Err)
		}
	}
	if n := len(proxy.Requests()); n > 0 {
		t.Errorf("%d requests", n)
	}
}

// The broken inventory of one graph is the failure of that graph, and blocks no
// deletions of others.
func TestBrokenInventoryOfAnotherGraph(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.complete(b.graph("g", "nodes: ["+configMap("a", "a", "1")+", "+configMap("b", "b", "1")+"]"))
	b.Apply(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: pequod-inventory-x, labels: {pequod.io/inventory: "true"}}}`)
	b.wantOps(b.complete(b.graph("g", "nodes: ["+configMap("a", "a", "1")+"]")), "a unchanged, b deleted")
}
