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
	b.defineAs("boxes."+group, definition, group)
}

// defineAs is define for a definition with another name.
func (b *env) defineAs(name, definition, group string) {
	b.t.Helper()
	b.Apply(b.t, strings.ReplaceAll(definition, "GROUP", group))
	b.t.Cleanup(func() {
		definitions, err := b.Resource("apiextensions.k8s.io/v1", "CustomResourceDefinition", "")
		if err != nil {
			b.t.Fatal(err)
		}
		_ = definitions.Delete(b.background(), name, metav1.DeleteOptions{})
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

// crates is a kind with two versions. SERVED stands for whether the first is served.
const crates = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boxes.GROUP}
spec:
  group: GROUP
  scope: Namespaced
  names: {kind: Box, plural: boxes, singular: box, listKind: BoxList}
  versions:
  - {name: v1alpha1, served: SERVED, storage: false, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`

// Objects that left a graph are pruned and deleted in another version of their kind
// when the cluster doesn't serve theirs any more.
func TestVersionIsNotServedAnyMore(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	const group = "versiontest.example.com"
	b.define(group, strings.ReplaceAll(crates, "SERVED", "true"))
	crate := func(name string) string {
		return `{id: ` + name + `, resource: {apiVersion: ` + group + `/v1alpha1, kind: Box, metadata: {name: ` + name + `}, spec: {size: 1}}}`
	}
	b.apply(b.rendered("less", nodes(crate("one"), crate("held"), configMap("cm", "cm-less", "1"))))
	b.apply(b.rendered("going", nodes(crate("two"), configMap("cm", "cm-going", "1"))))
	b.ready("less")
	b.ready("going")
	b.patch(group+"/v1", "Box", "held", "somebody", `{"metadata":{"finalizers":["example.com/held"]}}`)

	b.Apply(t, strings.ReplaceAll(strings.ReplaceAll(crates, "SERVED", "false"), "GROUP", group))
	b.until("less", condition("Ready", "False", "UnknownKind", "the cluster knows no Box"))
	b.apply(b.rendered("less", nodes(configMap("cm", "cm-less", "1"))))
	b.until("less", condition("Ready", "Unknown", "Progressing", "held by finalizer example.com/held"))
	b.patch(group+"/v1", "Box", "held", "somebody", `{"metadata":{"finalizers":null}}`)
	if got := owned(b.ready("less")); got != "ConfigMap cm-less" {
		t.Errorf("inventory: %s", got)
	}
	b.wantExists(false, group+"/v1", "Box", "one", "held")
	b.remove("going")
	b.gone("going")
	b.wantExists(false, group+"/v1", "Box", "two")
}
