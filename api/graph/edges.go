package graph

import (
	"slices"
	"strconv"

	"github.com/pequod-io/pequod/api/reference"
)

// EdgeKind says why a node waits for another.
type EdgeKind string

// The kinds of edge, the most explicit first.
const (
	// Dependency edges are declared by the node's author.
	Dependency EdgeKind = "Dependency"
	// Reference edges come from late references.
	Reference EdgeKind = "Reference"
	// Implied edges lead from objects to their Namespace and from custom
	// resources to their definition, where those are in the same graph.
	Implied EdgeKind = "Implied"
)

// Edge says that Node waits until Needs is ready.
type Edge struct {
	Node, Needs string
	Kind        EdgeKind
	// Path is where in the node the edge comes from, such as dependencies[0]
	// or resource.spec.ip; implied edges come from no place.
	Path string
}

// Edges returns the edges between nodes that exist, at most one from one node
// to another: of several reasons the most explicit. They are in the order of
// the nodes, and for one node in the order of its dependencies, its late
// references' paths, and the implied nodes.
func (g *Graph) Edges() []Edge { return slices.Clone(g.edges) }

// link finds the edges.
func (g *Graph) link() {
	g.needs = make([][]int, len(g.Nodes))
	namespaces := g.namespaces()
	external := g.externalCRDs()
	// have[j] is 1 + the last node that got an edge to node j.
	have := make([]int, len(g.Nodes))
	for i := range g.Nodes {
		n := &g.Nodes[i]
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
		if definition, ok := g.crds[gk]; ok {
			add(definition.node, Implied, none)
		} else if len(external) > 0 {
			if j, ok := external[pluralName(gk)]; ok {
				add(j, Implied, none)
			}
		}
		if j, ok := namespaces[n.Object.Namespace]; ok && n.Object.Namespace != "" {
			add(j, Implied, none)
		}
	}
}

// namespaces are the Namespaces among the nodes, by name.
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

// edge returns the edge between two nodes that have one.
func (g *Graph) edge(node, needs int) Edge {
	for _, e := range g.edges {
		if e.Node == g.ids[node] && e.Needs == g.ids[needs] {
			return e
		}
	}
	return Edge{}
}
