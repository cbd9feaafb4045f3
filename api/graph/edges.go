package graph

import (
	"slices"
	"strconv"

	"github.com/pequod-io/pequod/api/reference"
)

// EdgeKind is the cause of an edge.
type EdgeKind string

// The kinds of edges, the most explicit first.
const (
	// Dependency edges are declared in the dependencies of the node.
	Dependency EdgeKind = "Dependency"
	// Reference edges come from late references.
	Reference EdgeKind = "Reference"
	// Implied edges lead from an object to its Namespace, and from a custom resource
	// to its CustomResourceDefinition, if those are nodes of the same graph.
	Implied EdgeKind = "Implied"
)

// Edge is a dependency: Node is applied after Needs is ready. Both are node ids.
type Edge struct {
	Node, Needs string
	Kind        EdgeKind
	// Path is the field of the node that causes the edge, such as dependencies[0] or
	// resource.spec.ip. It is empty for implied edges.
	Path string
}

// Edges returns the edges between existing nodes, at most one from one node to
// another: if there are several causes, the most explicit one. The edges are in the
// order of the nodes, and the edges of one node in the order of its dependencies,
// of the paths of its late references, and of the implied nodes.
func (g *Graph) Edges() []Edge { return slices.Clone(g.edges) }

// buildEdges sets g.edges and g.needs. The nodes must have been read.
func (g *Graph) buildEdges() {
	g.needs = make([][]int, len(g.Nodes))
	namespaces := g.namespaces()
	external := g.externalCRDs()
	// have[j] is 1 + the index of the last node that got an edge to node j, so a
	// second edge between the same nodes is recognized without a set per node.
	have := make([]int, len(g.Nodes))
	for i := range g.Nodes {
		n := &g.Nodes[i]
		// add is called with the most explicit causes first, so later causes of
		// the same edge are ignored. path is a function because formatting it is
		// wasted on ignored edges.
		add := func(j int, kind EdgeKind, path func() string) {
			if j == i || have[j] == i+1 {
				return
			}
			have[j] = i + 1
			g.needs[i] = append(g.needs[i], j)
			g.edges = append(g.edges, Edge{Node: n.ID, Needs: g.ids[j], Kind: kind, Path: path()})
		}
		for k, id := range n.Dependencies {
			if j, ok := g.index[id]; ok {
				add(j, Dependency, func() string { return "dependencies[" + strconv.Itoa(k) + "]" })
			}
		}
		for _, late := range n.References {
			for _, id := range late.Nodes() {
				add(g.index[id], Reference, func() string {
					return append(reference.Path{"resource"}, late.Path...).String()
				})
			}
		}
		none := func() string { return "" }
		gk := n.GroupKind()
		// A definition that the graph applies takes precedence over one that it
		// refers to.
		if definition, ok := g.crds[gk]; ok {
			add(definition.node, Implied, none)
		} else if len(external) > 0 {
			if j, ok := external[crdName(gk)]; ok {
				add(j, Implied, none)
			}
		}
		if j, ok := namespaces[n.Object.Namespace]; ok && n.Object.Namespace != "" {
			add(j, Implied, none)
		}
	}
}

// namespaces returns the indexes of the nodes that are Namespaces, by name. For two
// nodes of one Namespace it returns the first.
func (g *Graph) namespaces() map[string]int {
	found := map[string]int{}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if !isNamespace(n.GroupKind()) {
			continue
		}
		if _, taken := found[n.Object.Name]; !taken {
			found[n.Object.Name] = i
		}
	}
	return found
}

// edge returns the edge between two nodes, or a zero Edge if there is none.
func (g *Graph) edge(node, needs int) Edge {
	for _, e := range g.edges {
		if e.Node == g.ids[node] && e.Needs == g.ids[needs] {
			return e
		}
	}
	return Edge{}
}
