package stored_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/inventory"
	"github.com/pequod-io/pequod/inventory/configmap"
	"github.com/pequod-io/pequod/inventory/stored"
	"github.com/pequod-io/pequod/test/harness"
)

func entries(names ...string) []inventory.Entry {
	var list []inventory.Entry
	for i, name := range names {
		list = append(list, inventory.Entry{
			Key: inventory.Key{Kind: "ConfigMap", Namespace: "n", Name: name}, Version: "v1", Node: name, Wave: i, UID: types.UID("u-" + name),
			Desired: "d", Live: "l", Orphan: i == 1, Create: i == 2,
		})
	}
	return list
}

func TestStore(t *testing.T) {
	t.Parallel()
	c := harness.Start(t)
	text, err := os.ReadFile(filepath.FromSlash("../../config/crd/platform.pequod.io_resourcegraphs.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	c.Apply(t, string(text))
	s := stored.New(c.Client.CoreV1().RESTClient())
	owner := inventory.Owner{Namespace: c.Namespace, Name: "web"}
	load := func() *inventory.Inventory {
		t.Helper()
		inv, err := s.Load(t.Context(), owner)
		if err != nil {
			t.Fatal(err)
		}
		return inv
	}
	want := func(revision string, entries []inventory.Entry) {
		t.Helper()
		inv := load()
		if inv.Revision != revision {
			t.Errorf("revision %q; want %q", inv.Revision, revision)
		}
		if diff := cmp.Diff(entries, inv.Entries); diff != "" {
			t.Errorf("entries (-want +got):\n%s", diff)
		}
	}
	save := func(inv *inventory.Inventory) {
		t.Helper()
		if err := s.Save(t.Context(), inv); err != nil {
			t.Fatal(err)
		}
	}
	want("", nil)

	// Without a graph in the cluster: in a ConfigMap.
	inv := load()
	inv.Revision, inv.Entries = "r1", entries("a", "b")
	save(inv)
	want("r1", entries("a", "b"))

	// A graph comes: the next who saves moves the inventory there.
	const rg = `{apiVersion: platform.pequod.io/v1alpha1, kind: ResourceGraph, metadata: {name: web}, spec: {
  sourceRef: {apiVersion: a/v1, kind: B, name: c}, platformRef: {module: m}, renderHash: x, graph: {nodes: []}}}`
	c.Apply(t, rg)
	want("r1", entries("a", "b"))
	moved, late := load(), load()
	moved.Revision, moved.Complete, moved.Entries = "r2", true, entries("a", "b", "c")
	save(moved)
	want("r2", entries("a", "b", "c"))
	if _, err := c.Client.CoreV1().ConfigMaps(c.Namespace).Get(t.Context(), configmap.Name(owner), metav1.GetOptions{}); err == nil {
		t.Error("the ConfigMap is still there")
	}
	graph := c.Get(t, v1alpha1.GroupVersion.String(), "ResourceGraph", "web")
	if n := viewOf(t, graph).Count; n != 3 {
		t.Errorf("%d counted", n)
	}

	// Who read it before, and who wrote the ConfigMap, may not write over it.
	for name, old := range map[string]*inventory.Inventory{"read before": late, "ConfigMap": inv} {
		old.Revision = "r3"
		var conflict *configmap.ConflictError
		if err := s.Save(t.Context(), old); !errors.As(err, &conflict) {
			t.Errorf("%s: %v; want a conflict", name, err)
		}
	}
	// Another change of the graph is none.
	c.SetStatus(t, v1alpha1.GroupVersion.String(), "ResourceGraph", "web", map[string]any{"phase": "Executing"})
	moved.Complete, moved.Entries = false, entries("a")
	save(moved)
	want("r2", entries("a"))

	list, err := s.List(t.Context(), c.Namespace)
	if err != nil || len(list) != 1 || list[0].Owner != owner || len(list[0].Entries) != 1 {
		t.Errorf("list: %v %v", list, err)
	}
	all, err := s.List(t.Context(), "")
	if err != nil || !slices.ContainsFunc(all, func(inv *inventory.Inventory) bool { return inv.Owner == owner && inv.Revision == "r2" }) {
		t.Errorf("list of all namespaces: %v %v", all, err)
	}
	if err := s.Remove(t.Context(), load()); err != nil {
		t.Fatal(err)
	}
	want("", nil)
}

func viewOf(t *testing.T, obj *unstructured.Unstructured) *v1alpha1.Inventory {
	t.Helper()
	raw, err := json.Marshal(obj.Object)
	rg := &v1alpha1.ResourceGraph{}
	if err == nil {
		err = json.Unmarshal(raw, rg)
	}
	if err != nil || rg.Status.Inventory == nil {
		t.Fatalf("%v: %s", err, raw)
	}
	return rg.Status.Inventory
}
