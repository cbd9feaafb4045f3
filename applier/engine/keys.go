package engine

import (
	"unique"

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

// key returns the key of a reference, and reports whether the scope of its kind is
// known. If it isn't, the key is provisional: it has a namespace, which the object
// has only if its kind turns out to be namespaced.
func (r keyResolver) key(ref v1alpha1.ObjectRef) (key inventory.Key, known bool) {
	gv, _ := schema.ParseGroupVersion(ref.APIVersion) // the graph was validated
	// Keys are kept for very many objects of few kinds and namespaces.
	key = inventory.Key{Group: shared(gv.Group), Kind: shared(ref.Kind), Namespace: shared(ref.Namespace), Name: ref.Name}
	namespaced, known := r.scope(gv.WithKind(ref.Kind))
	switch {
	case known && !namespaced:
		key.Namespace = ""
	case key.Namespace == "":
		key.Namespace = r.namespace
	}
	return key, known
}

// shared returns the one copy of a string that all keys share.
func shared(s string) string { return unique.Make(s).Value() }

// scope reports whether a kind is namespaced, and whether that is known.
func (r keyResolver) scope(gvk schema.GroupVersionKind) (namespaced, known bool) {
	if cluster, known := r.builtin(gvk.GroupKind()); known {
		return !cluster, true
	}
	if r.namespaced == nil {
		return false, false
	}
	return r.namespaced(gvk)
}

// builtin reports whether a kind of Kubernetes or of the graph is cluster-scoped.
func (r keyResolver) builtin(gk schema.GroupKind) (cluster, known bool) {
	if r.graph == nil {
		return graph.ClusterScoped(gk)
	}
	return r.graph.ClusterScoped(gk)
}

// rescope removes the namespaces of cluster-scoped objects from the entries of a
// stored inventory, and reports whether there were any. Earlier versions recorded
// the graph's namespace if they didn't know the scope of a kind.
func (r keyResolver) rescope(stored []inventory.Entry) (entries []inventory.Entry, changed bool) {
	entries = make([]inventory.Entry, 0, len(stored))
	seen := make(map[inventory.Key]bool, len(stored))
	for _, entry := range stored {
		seen[entry.Key] = true
	}
	for _, entry := range stored {
		namespaced, known := r.scope(schema.GroupVersionKind{Group: entry.Group, Version: entry.Version, Kind: entry.Kind})
		if entry.Namespace != "" && known && !namespaced {
			changed = true
			if entry.Namespace = ""; seen[entry.Key] {
				continue // the object has a correct entry, too
			}
			seen[entry.Key] = true
		}
		entries = append(entries, entry)
	}
	return entries, changed
}

// DesiredEntries returns the objects that a graph is going to own, as inventory
// entries without UIDs. Objects that are only read or mirrored aren't included.
// Nodes of an invalid graph are skipped if they name no object. Entries of kinds
// whose scope isn't known have a namespace; [inventory.Claims] allows for that.
func DesiredEntries(rg *v1alpha1.ResourceGraph, namespaced func(schema.GroupVersionKind) (bool, bool)) []inventory.Entry {
	g := graph.ReadObjects(rg)
	keys := keyResolver{graph: g, namespace: rg.Namespace, namespaced: namespaced}
	mirrored := map[inventory.Key]bool{}
	if a := rg.Spec.Adopt; a != nil && a.Strategy == v1alpha1.AdoptMirror {
		for _, ref := range a.Resources {
			key, _ := keys.key(ref)
			mirrored[key] = true
		}
	}
	var desired []inventory.Entry
	for _, n := range g.Nodes {
		key, _ := keys.key(n.Object)
		if n.ExternalRef == nil && n.Object.Kind != "" && n.Object.Name != "" && !mirrored[key] {
			desired = append(desired, inventory.Entry{Key: key, Node: n.ID})
		}
	}
	return desired
}
