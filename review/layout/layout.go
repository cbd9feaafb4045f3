package layout

// A Graph has boxes and the edges between them.
type Graph struct {
	Boxes []Box
	// Edges lead from one box to another, which are indexes of Boxes. An edge that
	// closes a cycle does not influence the layers.
	Edges []Edge
}

// A Box is the size of a node.
type Box struct{ Width, Height int }

// An Edge leads from a box to one that is right of it.
type Edge struct{ From, To int }

// Options are the distances between boxes, in the unit of their sizes.
type Options struct {
	// Columns is the distance between two layers, Rows that between two boxes of a
	// layer, and Lanes that between edges that pass a layer.
	Columns, Rows, Lanes int
}

// A Point is a position. The origin is the upper left corner; y grows downwards.
type Point struct{ X, Y int }

// A Layout is a graph with positions.
type Layout struct {
	Width, Height int
	// Boxes has the upper left corner of each box, and Layers its layer, from 0.
	Boxes  []Point
	Layers []int
	// Columns has the left end and the width of each layer.
	Columns []Column
	// Edges has the points of each edge. The first is on the right end of the box
	// From, and the last on the left end of the box To. Those between are pairs, the
	// ends of a horizontal line through a layer that the edge passes. An edge that
	// closes a cycle has only the first and the last.
	Edges [][]Point
}

// A Column is the space of one layer.
type Column struct{ X, Width int }

// vertex is a box, or a waypoint where an edge passes a layer.
type vertex struct {
	layer  int
	height int
	box    int   // index in Graph.Boxes, or -1 for a waypoint
	left   []int // neighbours in the layer before, as indexes of plan.vertices
	right  []int // neighbours in the layer after
	y      float64
}

// plan is the graph with waypoints, in which every edge leads to the next layer.
type plan struct {
	vertices []vertex
	// layers has the vertices of each layer from top to bottom.
	layers [][]int
	// routes has the waypoints of each edge.
	routes [][]int
}

// Place returns positions for the boxes and edges of g. Its time grows with
// [Graph.Steps], which the caller must bound.
func Place(g Graph, o Options) Layout {
	layers, backward := assignLayers(g)
	p := newPlan(g, layers, backward)
	p.order()
	p.assignRows(o)
	return p.layout(g, o, layers)
}

// newPlan cuts edges that span several layers by waypoints.
func newPlan(g Graph, layers []int, backward []bool) *plan {
	p := &plan{routes: make([][]int, len(g.Edges))}
	for i, box := range g.Boxes {
		p.add(vertex{layer: layers[i], height: box.Height, box: i})
	}
	for i, e := range g.Edges {
		if backward[i] {
			continue
		}
		last := e.From
		for layer := layers[e.From] + 1; layer < layers[e.To]; layer++ {
			waypoint := p.add(vertex{layer: layer, box: -1})
			p.routes[i] = append(p.routes[i], waypoint)
			p.connect(last, waypoint)
			last = waypoint
		}
		p.connect(last, e.To)
	}
	return p
}

func (p *plan) add(v vertex) int {
	for len(p.layers) <= v.layer {
		p.layers = append(p.layers, nil)
	}
	p.vertices = append(p.vertices, v)
	p.layers[v.layer] = append(p.layers[v.layer], len(p.vertices)-1)
	return len(p.vertices) - 1
}

func (p *plan) connect(from, to int) {
	p.vertices[from].right = append(p.vertices[from].right, to)
	p.vertices[to].left = append(p.vertices[to].left, from)
}
