package graph

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// crd is a node that applies a CustomResourceDefinition. The graph's other nodes
// may be resources of the kind that it defines.
type crd struct {
	// node is the index of the node; namespaced is the scope of the defined kind.
	node       int
	namespaced bool
}

// readCRD records the kind that the CustomResourceDefinition of node i defines.
// Definitions that are only referred to by externalRef have no spec here; buildEdges
// finds them by name through externalCRDs and crdName.
func (g *Graph) readCRD(i int) {
	n := &g.Nodes[i]
	raw, err := rawJSON(n.Resource)
	if err != nil || raw == nil {
		return
	}
	var d struct {
		Spec struct {
			Group string `json:"group"`
			Names struct {
				Kind string `json:"kind"`
			} `json:"names"`
			Scope string `json:"scope"`
		} `json:"spec"`
	}
	// The API server rejects a definition that does not decode. It implies no edges
	// here.
	if err := json.Unmarshal(raw, &d); err != nil || d.Spec.Names.Kind == "" {
		return
	}
	gk := schema.GroupKind{Group: d.Spec.Group, Kind: d.Spec.Names.Kind}
	// If two nodes define one kind, the first counts. checkObject reports the
	// second if it has the same name.
	if _, taken := g.crds[gk]; !taken {
		g.crds[gk] = crd{node: i, namespaced: d.Spec.Scope == string(v1alpha1.ScopeNamespaced)}
	}
}

// externalCRDs returns the indexes of the nodes that refer to a
// CustomResourceDefinition by externalRef, by the name of the definition.
func (g *Graph) externalCRDs() map[string]int {
	found := map[string]int{}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if n.ExternalRef != nil && isCRD(n.GroupKind()) {
			found[n.Object.Name] = i
		}
	}
	return found
}

// crdName returns the name of the CustomResourceDefinition of a kind, assuming a
// regular plural. For an irregular plural the implied edge is missing, and the
// author has to declare the dependency. For the kind Database of the group
// example.com it is databases.example.com.
func crdName(gk schema.GroupKind) string {
	plural, _ := meta.UnsafeGuessKindToResource(gk.WithVersion(""))
	return strings.ToLower(plural.Resource) + "." + gk.Group
}

// completeNamespace sets the namespace of the node's object to the one that it has
// in the cluster: none for a cluster-scoped kind, and the graph's namespace for a
// namespaced kind without its own. For kinds of unknown scope it changes nothing.
func (g *Graph) completeNamespace(n *Node) {
	cluster, known := g.ClusterScoped(n.GroupKind())
	switch {
	case known && cluster:
		n.Object.Namespace = ""
	case known && n.Object.Namespace == "":
		n.Object.Namespace = g.source.Namespace
	}
}

// ClusterScoped reports whether a kind is cluster-scoped. known is false if the
// kind is neither part of Kubernetes nor defined by a CustomResourceDefinition in
// the graph.
func (g *Graph) ClusterScoped(gk schema.GroupKind) (cluster, known bool) {
	if cluster, known = ClusterScoped(gk); known {
		return cluster, true
	}
	definition, here := g.crds[gk]
	return here && !definition.namespaced, here
}
