package review

import (
	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/objectdiff"
	"github.com/pequod-io/pequod/review/layout"
)

// MaxDrawn is the largest number of nodes that a drawing in a comment has. A reader can't
// follow more, and Mermaid becomes slow.
const MaxDrawn = 30

// Drawing is the changed part of one graph: the changed nodes and their direct neighbours.
type Drawing struct {
	// Title names the instance.
	Title string
	// Others is the number of other instances that change alike.
	Others int
	Nodes  []Node
	// Edges are between Nodes, without those that others imply. From is applied before To.
	Edges []Edge
	// Hidden is the number of nodes of the graph that are left out: they don't change,
	// and no neighbour of theirs does.
	Hidden int
}

// Node is a node of a [Drawing].
type Node struct {
	ID, Kind, Name string
	// Action is empty for a node that doesn't change.
	Action objectdiff.Action
}

// Edge is an edge of a [Drawing]. From and To are indexes in its Nodes.
type Edge struct {
	From, To int
	Kind     graph.EdgeKind
}

// Neighbourhood returns the drawings of the first instances of all groups, in the order of
// the groups. Groups whose changes have no edges are left out: a drawing would only repeat
// the list of objects.
func (r *Report) Neighbourhood() []Drawing {
	var all []Drawing
	for _, g := range r.Groups {
		in := r.Shown(g)
		if in.Action != objectdiff.Modify {
			continue // everything is new or gone
		}
		d := in.Drawing()
		if d.Others = len(g.Instances) - 1; len(d.Edges) > 0 {
			all = append(all, d)
		}
	}
	return all
}

// Drawing returns the changed part of the graphs of an instance. Nodes that only the base
// has are part of it.
func (in *Instance) Drawing() Drawing {
	d := Drawing{Title: in.name()}
	actions := map[string]objectdiff.Action{}
	for _, o := range in.Objects {
		if o.Node != "" {
			actions[o.Node] = o.Action
		}
	}
	nodes, edges := union(in.Before, in.After)
	near := map[string]bool{}
	for _, e := range edges {
		if actions[e.Node] != "" || actions[e.Needs] != "" {
			near[e.Node], near[e.Needs] = true, true
		}
	}
	index := map[string]int{}
	for _, n := range nodes {
		if actions[n.ID] == "" && !near[n.ID] {
			d.Hidden++
			continue
		}
		index[n.ID] = len(d.Nodes)
		d.Nodes = append(d.Nodes, Node{ID: n.ID, Kind: n.Object.Kind, Name: n.Object.Name, Action: actions[n.ID]})
	}
	for _, e := range edges {
		from, ok := index[e.Needs]
		to, ok2 := index[e.Node]
		// Edges between two neighbours say nothing about the change.
		if ok && ok2 && (actions[e.Node] != "" || actions[e.Needs] != "") {
			d.Edges = append(d.Edges, Edge{From: from, To: to, Kind: e.Kind})
		}
	}
	d.Edges, _ = layout.Reduce(len(d.Nodes), d.Edges, func(e Edge) layout.Edge { return layout.Edge{From: e.From, To: e.To} })
	return d
}

// union returns the nodes and edges of two graphs, which may be nil. Those of after come
// first, and then those that only before has.
func union(before, after *v1alpha1.ResourceGraph) (nodes []graph.Node, edges []graph.Edge) {
	type between struct{ node, needs string }
	known, connected := map[string]bool{}, map[between]bool{}
	for _, rg := range []*v1alpha1.ResourceGraph{after, before} {
		if rg == nil {
			continue
		}
		read := graph.Read(rg)
		for _, n := range read.Nodes {
			if !known[n.ID] {
				known[n.ID] = true
				nodes = append(nodes, n)
			}
		}
		for _, e := range read.Edges() {
			if b := (between{e.Node, e.Needs}); !connected[b] {
				connected[b] = true
				edges = append(edges, e)
			}
		}
	}
	return nodes, edges
}
