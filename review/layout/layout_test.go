package layout

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var spacing = Options{Columns: 60, Rows: 16, Lanes: 12}

// graph returns a graph of n equal boxes.
func graph(n int, edges ...Edge) Graph {
	g := Graph{Edges: edges}
	for range n {
		g.Boxes = append(g.Boxes, Box{Width: 100, Height: 40})
	}
	return g
}

func TestPlace(t *testing.T) {
	for name, c := range map[string]struct {
		graph Graph
		want  Layout
	}{
		"empty": {want: Layout{Boxes: []Point{}, Layers: []int{}, Columns: []Column{}, Edges: [][]Point{}}},
		"one": {graph: graph(1), want: Layout{
			Width: 100, Height: 40, Boxes: []Point{{0, 0}}, Layers: []int{0}, Columns: []Column{{0, 100}}, Edges: [][]Point{},
		}},
		// The box before two others is in their middle.
		"fork": {graph: graph(3, Edge{0, 1}, Edge{0, 2}), want: Layout{
			Width: 260, Height: 96, Boxes: []Point{{0, 28}, {160, 0}, {160, 56}}, Layers: []int{0, 1, 1},
			Columns: []Column{{0, 100}, {160, 100}},
			Edges:   [][]Point{{{100, 48}, {160, 20}}, {{100, 48}, {160, 76}}},
		}},
		// An edge that spans two layers passes the box between them.
		"long": {graph: graph(3, Edge{0, 1}, Edge{1, 2}, Edge{0, 2}), want: Layout{
			Width: 420, Height: 56, Boxes: []Point{{0, 16}, {160, 0}, {320, 16}}, Layers: []int{0, 1, 2},
			Columns: []Column{{0, 100}, {160, 100}, {320, 100}},
			Edges: [][]Point{
				{{100, 36}, {160, 20}}, {{260, 20}, {320, 36}}, {{100, 36}, {160, 52}, {260, 52}, {320, 36}},
			},
		}},
		// Edges between equally many boxes don't cross, whatever the order of the input.
		"uncrossed": {graph: graph(4, Edge{0, 3}, Edge{1, 2}), want: Layout{
			Width: 260, Height: 96, Boxes: []Point{{0, 0}, {0, 56}, {160, 56}, {160, 0}}, Layers: []int{0, 0, 1, 1},
			Columns: []Column{{0, 100}, {160, 100}},
			Edges:   [][]Point{{{100, 20}, {160, 20}}, {{100, 76}, {160, 76}}},
		}},
		"cycle": {graph: graph(2, Edge{0, 1}, Edge{1, 0}), want: Layout{
			Width: 260, Height: 40, Boxes: []Point{{0, 0}, {160, 0}}, Layers: []int{0, 1},
			Columns: []Column{{0, 100}, {160, 100}},
			Edges:   [][]Point{{{100, 20}, {160, 20}}, {{260, 20}, {0, 20}}},
		}},
		"itself": {graph: graph(1, Edge{0, 0}), want: Layout{
			Width: 100, Height: 40, Boxes: []Point{{0, 0}}, Layers: []int{0}, Columns: []Column{{0, 100}},
			Edges: [][]Point{{{100, 20}, {0, 20}}},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Place(c.graph, spacing)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// No box touches another, every edge leads to the right, and the same graph yields
// the same layout, for graphs of any shape.
func TestPlaceRandomGraphs(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		n := 1 + random.IntN(60)
		g := graph(n)
		for i := range g.Boxes {
			g.Boxes[i] = Box{Width: 20 + random.IntN(200), Height: 20 + random.IntN(60)}
		}
		for range random.IntN(2 * n) {
			from := random.IntN(n)
			if to := from + random.IntN(n-from); to > from {
				g.Edges = append(g.Edges, Edge{from, to})
			}
		}
		l := Place(g, spacing)
		if diff := cmp.Diff(l, Place(g, spacing)); diff != "" {
			t.Fatalf("a second layout differs:\n%s", diff)
		}
		checkLayout(t, g, l)
	}
}

func checkLayout(t *testing.T, g Graph, l Layout) {
	t.Helper()
	for i, a := range l.Boxes {
		if a.X < 0 || a.Y < 0 || a.X+g.Boxes[i].Width > l.Width || a.Y+g.Boxes[i].Height > l.Height {
			t.Fatalf("box %d is outside of the layout", i)
		}
		for k, b := range l.Boxes[:i] {
			// Coordinates are rounded, so one unit of the distance may be missing.
			if l.Layers[i] == l.Layers[k] && a.Y < b.Y+g.Boxes[k].Height+spacing.Rows-1 && b.Y < a.Y+g.Boxes[i].Height+spacing.Rows-1 {
				t.Fatalf("boxes %d and %d are too near: %v, %v", k, i, b, a)
			}
		}
	}
	for i, e := range g.Edges {
		if l.Layers[e.From] >= l.Layers[e.To] {
			t.Fatalf("edge %d leads from layer %d to %d", i, l.Layers[e.From], l.Layers[e.To])
		}
		for k := 1; k < len(l.Edges[i]); k++ {
			if l.Edges[i][k].X < l.Edges[i][k-1].X {
				t.Fatalf("edge %d leads to the left: %v", i, l.Edges[i])
			}
		}
	}
}

// crossed counts the crossings of a graph's plan before and after order.
func crossed(g Graph) (before, after int) {
	layers, backward := assignLayers(g)
	p := newPlan(g, layers, backward)
	rank := make([]int, len(p.vertices))
	p.rankAll(rank)
	before = p.crossings(rank)
	p.order()
	p.rankAll(rank)
	return before, p.crossings(rank)
}

func TestOrderRemovesCrossings(t *testing.T) {
	// Two trees of depth three whose leaves alternate in the input.
	g := graph(14, Edge{0, 2}, Edge{0, 4}, Edge{1, 3}, Edge{1, 5},
		Edge{2, 6}, Edge{3, 7}, Edge{4, 8}, Edge{5, 9}, Edge{2, 10}, Edge{3, 11}, Edge{4, 12}, Edge{5, 13})
	if before, after := crossed(g); before == 0 || after != 0 {
		t.Errorf("%d crossings before and %d after", before, after)
	}
}

// A graph of 2,000 nodes is placed.
func TestPlaceManyNodes(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	g := graph(2000)
	for to := 1; to < 2000; to++ {
		for range random.IntN(3) {
			g.Edges = append(g.Edges, Edge{max(0, to-1-random.IntN(400)), to})
		}
	}
	checkLayout(t, g, Place(g, spacing))
}
