package controller_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/test/harness"
)

// boxes is a cluster-scoped kind that neither Kubernetes nor a graph defines.
const boxes = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boxes.GROUP}
spec:
  group: GROUP
  scope: Cluster
  names: {kind: Box, plural: boxes, singular: box, listKind: BoxList}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`

// define creates the definition of boxes in an API group, until the test ends.
func (b *env) define(group, definition string) {
	b.t.Helper()
	b.Apply(b.t, strings.ReplaceAll(definition, "GROUP", group))
	b.t.Cleanup(func() {
		definitions, err := b.Resource("apiextensions.k8s.io/v1", "CustomResourceDefinition", "")
		if err != nil {
			b.t.Fatal(err)
		}
		_ = definitions.Delete(b.background(), "boxes."+group, metav1.DeleteOptions{})
	})
}

// boxUID returns the UID of a cluster-scoped box.
func (b *env) boxUID(group, name string) types.UID {
	b.t.Helper()
	r, err := b.Resource(group+"/v1", "Box", "")
	if err != nil {
		b.t.Fatal(err)
	}
	box, err := r.Get(b.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	return box.GetUID()
}

// mergeStatus changes the status of a graph as another client would.
func (b *env) mergeStatus(name string, status map[string]any) {
	b.t.Helper()
	patch, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.graphs().Patch(b.t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "somebody"}, "status"); err != nil {
		b.t.Fatal(err)
	}
}

// A cluster-scoped object is handed over between graphs, however recently the applier
// was started: its scope is never guessed.
func TestClusterScopedObjectMoves(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	b.clusterAdmin("pequod")
	const group = "scopetest.example.com"
	b.define(group, boxes)
	b.start(b.Config)

	name := b.Unique("box")
	box := `{id: box, resource: {apiVersion: ` + group + `/v1, kind: Box, metadata: {name: ` + name + `}, spec: {size: 1}}}`
	with := func(graph string) *v1alpha1.ResourceGraph {
		return b.rendered(graph, nodes(box, configMap("cm", "cm-"+graph, "1")))
	}
	without := func(graph string) *v1alpha1.ResourceGraph {
		return b.rendered(graph, nodes(configMap("cm", "cm-"+graph, "1")))
	}
	hasBox := func(rg *v1alpha1.ResourceGraph) error {
		if rg.Status.Inventory == nil {
			return errNotYet
		}
		for _, e := range rg.Status.Inventory.Entries {
			if e.Kind == "Box" && e.Namespace == "" && e.UID != "" {
				return isReady(rg)
			}
		}
		return fmt.Errorf("no cluster-scoped box in the inventory: %+v", rg.Status.Inventory.Entries)
	}
	b.apply(with("g1"))
	b.until("g1", hasBox)
	uid := b.boxUID(group, name)

	move := func(from, to string) {
		t.Helper()
		b.apply(with(to))
		b.until(to, condition("Stalled", "True", "OwnedElsewhere", "belongs to graph"))
		b.apply(without(from))
		b.ready(from)
		b.until(to, hasBox)
		if now := b.boxUID(group, name); now != uid {
			t.Fatalf("the box was deleted and created again: its UID was %s and is %s", uid, now)
		}
	}
	move("g1", "g2")

	b.stop()
	b.start(b.Config)
	move("g2", "g3")

	// An earlier version of the applier recorded the namespace of the graph.
	b.stop()
	entries := b.until("g3", hasBox).Status.Inventory.DeepCopy()
	for i := range entries.Entries {
		entries.Entries[i].Namespace = b.Namespace
	}
	b.mergeStatus("g3", map[string]any{"inventory": entries})
	b.start(b.Config)
	move("g3", "g4")

	b.stop()
	entries = b.until("g4", hasBox).Status.Inventory.DeepCopy()
	for i := range entries.Entries {
		entries.Entries[i].Namespace = b.Namespace
	}
	b.mergeStatus("g4", map[string]any{"inventory": entries})
	b.start(b.Config)
	b.until("g4", hasBox)
	b.remove("g4")
	b.gone("g4")
	boxes, err := b.Resource(group+"/v1", "Box", "")
	if err != nil {
		t.Fatal(err)
	}
	if left, err := boxes.Get(t.Context(), name, metav1.GetOptions{}); err == nil {
		t.Errorf("the box was orphaned: %v", left.GetLabels())
	}
}
