package engine

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/inventory"
)

// keyResolver converts references to objects into keys. A reference may leave out
// the namespace; whether the key has one depends on the scope of the kind.
type keyResolver struct {
	graph *graph.Graph
	// namespace is the one of the graph.
	namespace string
	// namespaced is Options.Namespaced.
	namespaced func(schema.GroupVersionKind) (namespaced, known bool)
}

// key returns the key of a reference. If the scope of its kind is unknown, the
// graph's namespace is assumed; see [Engine.keyOfObject].
func (r keyResolver) key(ref v1alpha1.ObjectRef) inventory.Key {
	gv, _ := schema.ParseGroupVersion(ref.APIVersion) // the graph was validated
	key := inventory.Key{Group: gv.Group, Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name}
	gk := schema.GroupKind{Group: gv.Group, Kind: ref.Kind}
	cluster, known := r.graph.ClusterScoped(gk)
	if !known && r.namespaced != nil {
		namespaced, ok := r.namespaced(gv.WithKind(ref.Kind))
		cluster, known = !namespaced, ok
	}
	switch {
	case known && cluster:
		key.Namespace = ""
	case key.Namespace == "":
		key.Namespace = r.namespace
	}
	return key
}

// DesiredEntries returns the objects that a graph is going to own, as inventory
// entries without UIDs. Objects that are only read or mirrored aren't included.
// Nodes of an invalid graph are skipped if they name no object.
func DesiredEntries(rg *v1alpha1.ResourceGraph, namespaced func(schema.GroupVersionKind) (bool, bool)) []inventory.Entry {
	g := graph.ReadObjects(rg)
	keys := keyResolver{graph: g, namespace: rg.Namespace, namespaced: namespaced}
	mirrored := map[inventory.Key]bool{}
	if a := rg.Spec.Adopt; a != nil && a.Strategy == v1alpha1.AdoptMirror {
		for _, ref := range a.Resources {
			mirrored[keys.key(ref)] = true
		}
	}
	var desired []inventory.Entry
	for _, n := range g.Nodes {
		key := keys.key(n.Object)
		if n.ExternalRef == nil && n.Object.Kind != "" && n.Object.Name != "" && !mirrored[key] {
			desired = append(desired, inventory.Entry{Key: key, Node: n.ID})
		}
	}
	return desired
}
