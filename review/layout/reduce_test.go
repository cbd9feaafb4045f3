package layout

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReduced(t *testing.T) {
	bipartite, star, chain, dense := graph(2000), graph(2000), graph(2000), graph(2000)
	for from := range 1000 {
		for to := 1000; to < 2000; to++ {
			bipartite.Edges = append(bipartite.Edges, Edge{from, to})
		}
	}
	for to := range 2000 {
		if to > 0 {
			star.Edges = append(star.Edges, Edge{0, to})
			chain.Edges = append(chain.Edges, Edge{to - 1, to})
		}
		for from := range to {
			dense.Edges = append(dense.Edges, Edge{from, to})
		}
	}
	for name, c := range map[string]struct {
		graph       Graph
		kept, steps int
	}{
		"none":      {graph(3), 0, 0},
		"two paths": {graph(4, Edge{0, 3}, Edge{0, 1}, Edge{1, 2}, Edge{2, 3}, Edge{1, 3}, Edge{0, 2}), 3, 3},
		"diamond":   {graph(4, Edge{0, 1}, Edge{0, 2}, Edge{1, 3}, Edge{2, 3}), 4, 4},
		"long":      {graph(4, Edge{0, 1}, Edge{1, 2}, Edge{3, 2}, Edge{0, 2}), 3, 4},
		"twice":     {graph(2, Edge{0, 1}, Edge{0, 1}), 1, 1},
		"cycle":     {graph(3, Edge{0, 1}, Edge{1, 2}, Edge{2, 0}), 3, 3},
		"chain":     {chain, 1999, 1999},
		"star":      {star, 1999, 1999},
		"bipartite": {bipartite, 1000000, 1000000},
		"dense":     {dense, 1999, 1999},
	} {
		t.Run(name, func(t *testing.T) {
			reduced, steps := reduce(c.graph)
			if kept := len(reduced.Edges); kept != c.kept || steps != c.steps {
				t.Errorf("%d edges with %d steps; want %d with %d", kept, steps, c.kept, c.steps)
			}
		})
	}
}

func reduce(g Graph) (reduced Graph, steps int) {
	g.Edges, steps = Reduce(len(g.Boxes), g.Edges, func(e Edge) Edge { return e })
	return g, steps
}

// The same boxes are reached, in the same layers, and each edge is necessary.
func TestReducedRandomGraphs(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 100 {
		g := graph(1 + random.IntN(20))
		names := random.Perm(len(g.Boxes)) // the order of the boxes isn't that of the edges
		for range random.IntN(4 * len(g.Boxes)) {
			from := random.IntN(len(g.Boxes))
			if to := from + random.IntN(len(g.Boxes)-from); to > from {
				g.Edges = append(g.Edges, Edge{names[from], names[to]})
			}
		}
		reduced, _ := reduce(g)
		if diff := cmp.Diff(closure(g), closure(reduced)); diff != "" {
			t.Fatalf("other boxes are reached (-want +got):\n%s", diff)
		}
		for i := range reduced.Edges {
			less := reduced
			less.Edges = slices.Delete(slices.Clone(reduced.Edges), i, i+1)
			if cmp.Equal(closure(less), closure(reduced)) {
				t.Fatalf("others imply %v in %v", reduced.Edges[i], reduced.Edges)
			}
		}
		before, _ := assignLayers(g)
		after, _ := assignLayers(reduced)
		if diff := cmp.Diff(before, after); diff != "" {
			t.Fatalf("other layers (-want +got):\n%s", diff)
		}
	}
}

// closure reports which boxes each box reaches.
func closure(g Graph) [][]bool {
	reached := make([][]bool, len(g.Boxes))
	for i := range reached {
		reached[i] = make([]bool, len(g.Boxes))
	}
	for range g.Boxes {
		for _, e := range g.Edges {
			reached[e.From][e.To] = true
			for k, yes := range reached[e.To] {
				reached[e.From][k] = reached[e.From][k] || yes
			}
		}
	}
	return reached
}
