package layout

import "math"

// straight is the weight of a waypoint's edges to other waypoints, and bent that of
// all other edges: long edges become straight first.
const (
	straight = 8.0
	bent     = 1.0
)

// passes is how often assignRows moves all layers in both directions.
const passes = 12

// assignRows gives every vertex its vertical center. Each pass moves the vertices of
// a layer as near to their neighbours as their order and distances permit.
//
// Products are converted explicitly: otherwise compilers may fuse them with a sum,
// and some machines would round differently.
func (p *plan) assignRows(o Options) {
	for _, layer := range p.layers {
		y := 0.0
		for i, v := range layer {
			if i > 0 {
				y += p.distance(layer[i-1], v, o)
			}
			p.vertices[v].y = y
		}
	}
	left := func(v vertex) []int { return v.left }
	right := func(v vertex) []int { return v.right }
	both := func(v vertex) []int { return append(append([]int(nil), v.left...), v.right...) }
	for range passes {
		for i := 1; i < len(p.layers); i++ {
			p.moveLayer(p.layers[i], o, left)
		}
		for i := len(p.layers) - 2; i >= 0; i-- {
			p.moveLayer(p.layers[i], o, right)
		}
	}
	for i := range p.layers {
		p.moveLayer(p.layers[i], o, both)
	}
}

// distance returns the least distance between the centers of two neighbours.
func (p *plan) distance(above, below int, o Options) float64 {
	a, b := p.vertices[above], p.vertices[below]
	gap := o.Rows
	if a.box < 0 || b.box < 0 {
		gap = o.Lanes
	}
	return float64(a.height+b.height)/2 + float64(gap)
}

// moveLayer minimizes the weighted squares of the distances between the vertices and
// the mean of their neighbours, while they keep their order and distances. This is
// an isotonic regression, which merging adjacent blocks solves exactly.
func (p *plan) moveLayer(layer []int, o Options, neighbours func(vertex) []int) {
	type block struct{ sum, weight, count float64 }
	var blocks []block
	offsets := make([]float64, len(layer)) // least distances to the first vertex
	for i, v := range layer {
		if i > 0 {
			offsets[i] = offsets[i-1] + p.distance(layer[i-1], v, o)
		}
		wish, weight := p.wish(v, neighbours)
		blocks = append(blocks, block{float64((wish - offsets[i]) * weight), weight, 1})
		for n := len(blocks); n > 1; n-- {
			a, b := blocks[n-2], blocks[n-1]
			if a.sum/a.weight <= b.sum/b.weight {
				break
			}
			blocks = append(blocks[:n-2], block{a.sum + b.sum, a.weight + b.weight, a.count + b.count})
		}
	}
	i := 0
	for _, b := range blocks {
		for range int(b.count) {
			p.vertices[layer[i]].y = b.sum/b.weight + offsets[i]
			i++
		}
	}
}

// wish returns where a vertex should be, and how important that is. A vertex without
// neighbours wishes weakly to stay.
func (p *plan) wish(v int, neighbours func(vertex) []int) (y, weight float64) {
	own := p.vertices[v]
	sum := 0.0
	for _, n := range neighbours(own) {
		w := bent
		if own.box < 0 && p.vertices[n].box < 0 {
			w = straight
		}
		sum += float64(p.vertices[n].y * w)
		weight += w
	}
	if weight == 0 {
		return own.y, 0.01
	}
	return sum / weight, weight
}

// layout rounds the coordinates and routes the edges.
func (p *plan) layout(g Graph, o Options, layers []int) Layout {
	l := Layout{
		Boxes: make([]Point, len(g.Boxes)), Layers: layers,
		Columns: make([]Column, len(p.layers)), Edges: make([][]Point, len(g.Edges)),
	}
	top := math.Inf(1)
	for _, v := range p.vertices {
		top = math.Min(top, v.y-float64(v.height)/2)
	}
	row := func(v int) int { return int(math.Round(p.vertices[v].y - top)) }
	for i, layer := range p.layers {
		if i > 0 {
			l.Columns[i].X = l.Width + o.Columns
		}
		for _, v := range layer {
			if box := p.vertices[v].box; box >= 0 {
				l.Columns[i].Width = max(l.Columns[i].Width, g.Boxes[box].Width)
			}
			l.Height = max(l.Height, row(v)+(p.vertices[v].height+1)/2)
		}
		l.Width = l.Columns[i].X + l.Columns[i].Width
	}
	for i, box := range g.Boxes {
		l.Boxes[i] = Point{l.Columns[layers[i]].X, row(i) - box.Height/2}
	}
	for i, e := range g.Edges {
		points := []Point{{l.Boxes[e.From].X + g.Boxes[e.From].Width, row(e.From)}}
		for _, waypoint := range p.routes[i] {
			c := l.Columns[p.vertices[waypoint].layer]
			points = append(points, Point{c.X, row(waypoint)}, Point{c.X + c.Width, row(waypoint)})
		}
		l.Edges[i] = append(points, Point{l.Boxes[e.To].X, row(e.To)})
	}
	return l
}
