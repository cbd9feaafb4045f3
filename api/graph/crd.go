package graph

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// crd is a definition of a kind that is part of the graph.
type crd struct {
	node       int
	namespaced bool
}

// readCRD notes which kind a CustomResourceDefinition defines. Of one that is
// only referred to, no more is known than its name, plural and group: the kinds
// of the graph whose plural it would be are looked up in findCRD.
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
	// A definition that doesn't decode is the API server's to refuse; it
	// orders nothing here.
	if err := json.Unmarshal(raw, &d); err != nil || d.Spec.Names.Kind == "" {
		return
	}
	gk := schema.GroupKind{Group: d.Spec.Group, Kind: d.Spec.Names.Kind}
	if _, taken := g.crds[gk]; !taken {
		g.crds[gk] = crd{node: i, namespaced: d.Spec.Scope == string(v1alpha1.ScopeNamespaced)}
	}
}

// externalCRDs are the definitions that the graph refers to, by name.
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

// pluralName is the name that the definition of a kind has if its plural is
// regular. If it isn't, an edge is missed that the author can declare.
func pluralName(gk schema.GroupKind) string {
	plural, _ := meta.UnsafeGuessKindToResource(gk.WithVersion(""))
	return strings.ToLower(plural.Resource) + "." + gk.Group
}

// completeNamespace gives the node's object the namespace that it will have.
func (g *Graph) completeNamespace(n *Node) {
	cluster, known := g.ClusterScoped(n.GroupKind())
	switch {
	case known && cluster:
		n.Object.Namespace = ""
	case known && n.Object.Namespace == "":
		n.Object.Namespace = g.source.Namespace
	}
}

// ClusterScoped says whether a kind lies outside of namespaces: one that comes
// with Kubernetes, or that a definition in the graph defines.
func (g *Graph) ClusterScoped(gk schema.GroupKind) (cluster, known bool) {
	if cluster, known = ClusterScoped(gk); known {
		return cluster, true
	}
	definition, here := g.crds[gk]
	return here && !definition.namespaced, here
}
