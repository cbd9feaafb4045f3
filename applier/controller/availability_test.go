package controller_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/test/harness"
)

// retry asks for an execution of a graph now, as docs/operations.md describes.
func (b *env) retry(name string) {
	b.t.Helper()
	b.merge(name, `{"metadata":{"annotations":{"pequod.io/reconcile-requested-at":"`+time.Now().Format(time.RFC3339Nano)+`"}}}`)
}

// breakAPI makes an API group version one of an aggregated API server that is down. Its
// objects stay in etcd. It returns a function that repairs the group.
func (b *env) breakAPI(group string) (repair func()) {
	b.t.Helper()
	services, err := b.Resource("apiregistration.k8s.io/v1", "APIService", "")
	if err != nil {
		b.t.Fatal(err)
	}
	// Without the label, the API server doesn't change it back.
	patch := `{"metadata":{"labels":{"kube-aggregator.kubernetes.io/automanaged":null}},
		"spec":{"service":{"namespace":"` + b.Namespace + `","name":"dead","port":443},"insecureSkipTLSVerify":true}}`
	if _, err := services.Patch(b.t.Context(), "v1."+group, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		b.t.Fatal(err)
	}
	discovery := func(ctx ctx) error {
		return b.Client.Discovery().RESTClient().Get().AbsPath("/apis/" + group + "/v1").Do(ctx).Error()
	}
	b.eventually("the API is down", func(ctx ctx) bool { return discovery(ctx) != nil })
	remove := func() { _ = services.Delete(b.background(), "v1."+group, metav1.DeleteOptions{}) }
	b.t.Cleanup(remove)
	return func() {
		b.t.Helper()
		remove() // the API server makes it again, as it was
		b.eventually("the API is back", func(ctx ctx) bool { return discovery(ctx) == nil })
	}
}

// lists returns a check that the inventory of a graph has these objects.
func lists(want string, then func(*v1alpha1.ResourceGraph) error) func(*v1alpha1.ResourceGraph) error {
	return func(rg *v1alpha1.ResourceGraph) error {
		if got := owned(rg); got != want {
			return fmt.Errorf("inventory: %s; want %s", got, want)
		}
		return then(rg)
	}
}

// An API group that can't be discovered blocks no other graph, and its objects are
// neither given up nor taken for deleted. Graphs with such objects aren't ready.
func TestAPIIsDown(t *testing.T) {
	t.Parallel()
	// Of its own: a broken group concerns all tests that search or collect garbage.
	b := idle(t, harness.StartOwn(t))
	// A watch that is open stays open when its group becomes an aggregated one. That of an
	// API server that goes down ends, so watches are begun again soon.
	b.options.Relist = 10 * time.Second
	const group = "downtest.example.com"
	b.define(group, strings.Replace(boxes, "Cluster", "Namespaced", 1))
	b.start(b.Config)
	box := func(name string) string {
		return `{id: box, resource: {apiVersion: ` + group + `/v1, kind: Box, metadata: {name: ` + name + `}, spec: {size: 1}}}`
	}
	cm := func(name string) string { return configMap("cm", "cm-"+name, "1") }
	for _, name := range []string{"stays", "less", "going", "lost", "lostgoing"} {
		b.apply(b.rendered(name, nodes(box(name), cm(name))))
	}
	b.apply(b.rendered("other", nodes(cm("other"))))
	for _, name := range []string{"stays", "less", "going", "lost", "lostgoing", "other"} {
		b.ready(name)
	}
	uid := b.Get(t, group+"/v1", "Box", "stays").GetUID()
	repair := b.breakAPI(group)

	b.apply(b.rendered("less", nodes(cm("less"))))
	b.until("less", lists("Box less, ConfigMap cm-less", condition("Ready", "False", "KindUnavailable", "isn't available now")))
	b.event("less", "KindUnavailable", "stays in its inventory")
	b.remove("going")
	b.until("going", lists("Box going, ConfigMap cm-going", condition("Ready", "False", "Deleting", "isn't available now")))
	b.until("stays", condition("Ready", "False", "KindUnavailable", "isn't available now"))
	// What isn't of the group goes on.
	b.patch("v1", "ConfigMap", "cm-stays", "somebody", `{"data":{"a":"other"}}`)
	b.eventually("corrected", func(ctx ctx) bool { return b.data(ctx, "cm-stays") == "1" })
	b.apply(b.rendered("other", nodes(configMap("cm", "cm-new", "1"))))
	if got := owned(b.ready("other")); got != "ConfigMap cm-new" {
		t.Errorf("inventory: %s", got)
	}
	b.remove("other")
	b.gone("other")

	// A lost inventory is found again, as far as possible, and the rest isn't forgotten.
	b.stop()
	for _, name := range []string{"lost", "lostgoing"} {
		b.mergeStatus(name, map[string]any{"inventory": nil, "history": nil, "nodeStates": nil, "conditions": nil})
	}
	b.apply(b.rendered("lost", nodes(cm("lost"))))
	b.remove("lostgoing")
	b.start(b.Config)
	missing := "objects that left the graph are still to be searched in API groups that aren't available: " + group
	b.until("lost", lists("ConfigMap cm-lost", condition("Ready", "True", "Completed", missing)))
	b.event("lost", "InventoryLost", group)
	b.until("lostgoing", condition("Ready", "False", "Deleting", missing))
	b.eventually("cm-lostgoing is deleted", func(ctx ctx) bool { return !b.exists(ctx, "v1", "ConfigMap", "cm-lostgoing") })
	b.stop()
	b.start(b.Config)
	b.retry("lost")
	b.until("lost", func(rg *v1alpha1.ResourceGraph) error {
		if rg.Status.ReconcileRequestedAt == "" {
			return errNotYet
		}
		return condition("Ready", "True", "Completed", missing)(rg)
	})

	repair()
	for _, name := range []string{"less", "lost"} {
		b.retry(name)
		b.until(name, lists("ConfigMap cm-"+name, func(rg *v1alpha1.ResourceGraph) error {
			if b.exists(t.Context(), group+"/v1", "Box", name) || len(rg.Status.Inventory.Unsearched) > 0 {
				return errNotYet
			}
			return condition("Ready", "True", "Completed", "1 object is ready")(rg)
		}))
	}
	b.ready("stays")
	if now := b.Get(t, group+"/v1", "Box", "stays").GetUID(); now != uid {
		t.Error("the object was created again")
	}
	b.stop()
	b.start(b.Config) // searches and retries begin again
	b.gone("going")
	b.gone("lostgoing")
	b.wantExists(false, group+"/v1", "Box", "less", "going", "lost", "lostgoing")
}

// A kind whose definition serves no version for a while keeps its objects. A graph that has
// lost its inventory waits for the kind, because it may have objects of it.
func TestServedInNoVersion(t *testing.T) {
	t.Parallel()
	// Of its own: the kind concerns all tests that search.
	b := idle(t, harness.StartOwn(t))
	b.start(b.Config)
	const group = "unservedtest.example.com"
	all := strings.ReplaceAll(crates, "SERVED", "true")
	b.define(group, all)
	crate := func(name string) string {
		return `{id: box, resource: {apiVersion: ` + group + `/v1alpha1, kind: Box, metadata: {name: ` + name + `}, spec: {size: 1}}}`
	}
	for graph, object := range map[string]string{"less": "one", "lost": "two"} {
		b.apply(b.rendered(graph, nodes(crate(object), configMap("cm", "cm-"+graph, "1"))))
		b.ready(graph)
	}
	b.Apply(t, strings.ReplaceAll(strings.ReplaceAll(all, "served: true", "served: false"), "GROUP", group))
	b.until("less", condition("Ready", "False", "UnknownKind", "the cluster knows no Box"))
	b.apply(b.rendered("less", nodes(configMap("cm", "cm-less", "1"))))
	b.until("less", lists("Box one, ConfigMap cm-less", condition("Ready", "False", "KindUnavailable", "serves no version")))
	b.event("less", "KindUnavailable", "stays in its inventory")
	b.stop()
	b.mergeStatus("lost", map[string]any{"inventory": nil, "history": nil, "nodeStates": nil, "conditions": nil})
	b.apply(b.rendered("lost", nodes(configMap("cm", "cm-lost", "1"))))
	b.start(b.Config)
	missing := "objects that left the graph are still to be searched in API groups that aren't available: " + group
	b.until("lost", lists("ConfigMap cm-lost", condition("Ready", "True", "Completed", missing)))
	b.event("lost", "InventoryLost", group)

	b.Apply(t, strings.ReplaceAll(strings.ReplaceAll(crates, "SERVED", "false"), "GROUP", group))
	for _, graph := range []string{"less", "lost"} {
		b.retry(graph)
		b.until(graph, lists("ConfigMap cm-"+graph, func(rg *v1alpha1.ResourceGraph) error {
			if len(rg.Status.Inventory.Unsearched) > 0 {
				return errNotYet
			}
			return isReady(rg)
		}))
	}
	b.eventually("the boxes are gone", func(ctx ctx) bool {
		return !b.exists(ctx, group+"/v1", "Box", "one") && !b.exists(ctx, group+"/v1", "Box", "two")
	})
}

// A definition that is deleted and created again with the other scope gets new objects,
// and their entries the other keys.
func TestScopeChanges(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	b.clusterAdmin("pequod")
	const group = "rescopetest.example.com"
	namespaced := strings.Replace(boxes, "Cluster", "Namespaced", 1)
	b.define(group, namespaced)
	b.start(b.Config)
	box := func(name string) string {
		return `{id: box, resource: {apiVersion: ` + group + `/v1, kind: Box, metadata: {name: ` + b.Namespace + name + `}, spec: {size: 1}}}`
	}
	b.apply(b.rendered("web", nodes(box("web"), configMap("cm", "cm-web", "1"))))
	b.apply(b.rendered("less", nodes(box("less"), configMap("cm", "cm-less", "1"))))
	b.ready("web")
	b.ready("less")
	replace := func(definition string) {
		t.Helper()
		definitions, err := b.Resource("apiextensions.k8s.io/v1", "CustomResourceDefinition", "")
		if err != nil {
			t.Fatal(err)
		}
		if err := definitions.Delete(t.Context(), "boxes."+group, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		b.eventually("the definition is gone", func(ctx ctx) bool {
			_, err := definitions.Get(ctx, "boxes."+group, metav1.GetOptions{})
			return err != nil
		})
		b.Apply(t, strings.ReplaceAll(definition, "GROUP", group))
	}
	hasBox := func(namespace string) func(*v1alpha1.ResourceGraph) error {
		return func(rg *v1alpha1.ResourceGraph) error {
			if rg.Status.Inventory == nil {
				return errNotYet
			}
			for _, e := range rg.Status.Inventory.Entries {
				if e.Kind == "Box" && e.UID != "" && e.Namespace == namespace && len(rg.Status.Inventory.Entries) == 2 {
					return isReady(rg)
				}
			}
			return fmt.Errorf("no box with namespace %q alone in the inventory: %+v", namespace, rg.Status.Inventory.Entries)
		}
	}
	replace(boxes)
	b.until("web", hasBox(""))
	b.until("less", hasBox(""))
	b.boxUID(group, b.Namespace+"web")
	replace(namespaced)
	b.apply(b.rendered("less", nodes(configMap("cm", "cm-less", "1"))))
	b.until("web", hasBox(b.Namespace))
	deleted := func(name string) {
		t.Helper()
		b.eventually(name+" is deleted", func(ctx ctx) bool { return b.collect(ctx, group, name) })
	}
	deleted(b.Namespace + "less")
	b.until("less", lists("ConfigMap cm-less", isReady))
	b.remove("web")
	deleted(b.Namespace + "web")
	b.gone("web")
}

// collect ends the deletion of a Box that waits for its dependents, and reports whether
// there is none. The garbage collector of the cluster knows a scope until the kinds that
// are served change, so it may never find the object.
func (b *env) collect(ctx context.Context, group, name string) bool {
	b.t.Helper()
	found := b.Dynamic.Resource(schema.GroupVersionResource{Group: group, Version: "v1", Resource: "boxes"}).Namespace(b.Namespace)
	box, err := found.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return true
	}
	if err != nil || box.GetDeletionTimestamp() == nil {
		return false
	}
	_, err = found.Patch(ctx, name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	return apierrors.IsNotFound(err)
}
