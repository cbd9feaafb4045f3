package controller_test

import (
	"encoding/json"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/inventory"
	"github.com/pequod-io/pequod/test/harness"
)

// restore creates a ConfigMap with the labels of a graph, as a backup tool does.
func (b *env) restore(name, graph, data string) *corev1.ConfigMap {
	b.t.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: inventory.Owner{Namespace: b.Namespace, Name: graph}.Labels(),
	}, Data: map[string]string{"a": data}}
	made, err := b.Client.CoreV1().ConfigMaps(b.Namespace).Create(b.t.Context(), cm, metav1.CreateOptions{FieldManager: "velero-server"})
	if err != nil {
		b.t.Fatal(err)
	}
	return made
}

// Objects that another tool restored, with their labels, are those of the restored
// graph, whether it comes with its finalizer or without.
func TestRestoredByAnotherTool(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	for _, graph := range []string{"with-finalizer", "without"} {
		first, second := b.restore(graph+"-a", graph, "1"), b.restore(graph+"-b", graph, "1")
		rg := b.rendered(graph, nodes(configMap("a", first.Name, "1"), configMap("b", second.Name, "1", "a"), configMap("c", graph+"-c", "1", "b")))
		if graph == "with-finalizer" {
			rg.Finalizers = []string{v1alpha1.Finalizer}
		}
		b.apply(rg)
		rg = b.ready(graph)
		if got, want := owned(rg), "ConfigMap "+graph+"-a, ConfigMap "+graph+"-b, ConfigMap "+graph+"-c"; got != want {
			t.Errorf("inventory: %s; want %s", got, want)
		}
		for _, made := range []*corev1.ConfigMap{first, second} {
			if got := b.Get(t, "v1", "ConfigMap", made.Name).GetUID(); got != made.UID {
				t.Errorf("%s was recreated", made.Name)
			}
			b.event(graph, "Adopted", "ConfigMap "+b.Namespace+"/"+made.Name+" was adopted")
		}
		b.remove(graph)
		b.gone(graph)
		b.wantExists(false, "v1", "ConfigMap", first.Name, second.Name)
	}
}

// Labels are not enough for an object that another graph has, and not for a graph
// that has its objects.
func TestCopiedLabelsAdoptNothing(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	b.start(b.Config)
	b.apply(b.rendered("first", nodes(configMap("a", "a", "first"))))
	b.ready("first")
	b.stop()
	b.patch("v1", "ConfigMap", "a", "thief", `{"metadata":{"labels":{"pequod.io/graph":"second"}}}`)
	b.apply(b.rendered("second", nodes(configMap("a", "a", "second"))))
	b.start(b.Config)
	b.until("second", condition("Stalled", "True", "OwnedElsewhere", "first"))
	b.until("first", condition("Stalled", "True", "OwnedElsewhere", "second"))
	if got := b.data(t.Context(), "a"); got != "first" {
		t.Errorf("data %s", got)
	}
	b.patch("v1", "ConfigMap", "a", "thief", `{"metadata":{"labels":{"pequod.io/graph":"first"}}}`)
	b.remove("second")
	b.gone("second")
	b.wantExists(true, "v1", "ConfigMap", "a")

	b.ready("first")

	b.restore("copy", "first", "1")
	b.apply(b.rendered("first", nodes(configMap("a", "a", "first"), configMap("copy", "copy", "2"))))
	b.until("first", condition("Stalled", "True", "AdoptionRequired", "exists already"))
	if got := b.data(t.Context(), "copy"); got != "1" {
		t.Errorf("the copy was written: %s", got)
	}
}

// The inventory of a large graph is in ConfigMaps, which a backup has, with the UIDs of the
// former objects. After Velero, which restores managed fields, the objects are the graph's
// nevertheless.
func TestLargeGraphIsRestored(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	var all []string
	for i := range v1alpha1.MaxInventory + 1 {
		all = append(all, configMap(fmt.Sprint("n", i), fmt.Sprint("large-", i), "1"))
	}
	b.apply(b.rendered("large", nodes(all...)))
	if rg := b.ready("large"); rg.Status.Inventory.ConfigMap == "" {
		t.Fatal("the inventory isn't in a ConfigMap")
	}
	maps := b.Client.CoreV1().ConfigMaps(b.Namespace)
	saved, err := maps.List(t.Context(), metav1.ListOptions{LabelSelector: "pequod.io/graph=large"})
	if err != nil {
		t.Fatal(err)
	}
	b.remove("large")
	b.gone("large")
	made, heads := map[string]types.UID{}, 0
	for _, cm := range saved.Items {
		managers := cm.ManagedFields
		cm.ObjectMeta = metav1.ObjectMeta{Name: cm.Name, Labels: cm.Labels, Annotations: cm.Annotations}
		restored, err := maps.Create(t.Context(), &cm, metav1.CreateOptions{FieldManager: "velero-server"})
		if err != nil {
			t.Fatal(err)
		}
		b.restoreManagers(cm.Name, managers)
		if cm.Labels["pequod.io/inventory"] != "" {
			heads++
		} else {
			made[cm.Name] = restored.UID
		}
	}
	if len(made) != len(all) || heads == 0 {
		t.Fatalf("the backup has %d objects and %d inventories", len(made), heads)
	}
	b.apply(b.rendered("large", nodes(all...)))
	b.ready("large")
	for name, uid := range made {
		if got := b.Get(t, "v1", "ConfigMap", name).GetUID(); got != uid {
			t.Errorf("%s was recreated", name)
		}
	}
	b.remove("large")
	b.gone("large")
	b.wantExists(false, "v1", "ConfigMap", "large-0", "large-500")
}

// restoreManagers restores the managed fields of a ConfigMap, as Velero does.
func (b *env) restoreManagers(name string, managers []metav1.ManagedFieldsEntry) {
	b.t.Helper()
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"managedFields": managers}})
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.Client.CoreV1().ConfigMaps(b.Namespace).Patch(b.t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "velero-server"}); err != nil {
		b.t.Fatal(err)
	}
}
