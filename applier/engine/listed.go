package engine

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/inventory"
)

// DesiredEntries are the objects that a graph is to own, as intents. Of a graph that
// isn't sound they are those that can be told.
func DesiredEntries(rg *v1alpha1.ResourceGraph, namespaced func(schema.GroupVersionKind) (bool, bool)) []inventory.Entry {
	g := graph.Read(rg)
	e := &Engine{owner: inventory.Owner{Namespace: rg.Namespace, Name: rg.Name}, opts: Options{Namespaced: namespaced}, graph: g}
	mirrored := map[inventory.Key]bool{}
	if a := rg.Spec.Adopt; a != nil && a.Strategy == v1alpha1.AdoptMirror {
		for _, ref := range a.Resources {
			mirrored[e.keyOf(ref)] = true
		}
	}
	var listed []inventory.Entry
	for _, n := range g.Nodes {
		key := e.keyOf(n.Object)
		if n.ExternalRef == nil && n.Object.Kind != "" && n.Object.Name != "" && !mirrored[key] {
			listed = append(listed, inventory.Entry{Key: key, Node: n.ID})
		}
	}
	return listed
}
