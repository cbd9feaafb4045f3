package layout

// MaxSteps is the largest number of steps of a graph that can be drawn. A drawing of so
// many has some 10 MB, and few people can read it.
const MaxSteps = 50_000

// Reduced returns the indexes of the edges that no others imply (the transitive reduction),
// in ascending order. An edge is implied if another path leads from its box to the same
// box. Edges that close a cycle stay. The layers of the boxes are the same without the
// edges that are left out.
func (g Graph) Reduced() []int {
	layers, backward := assignLayers(g)
	last := 0
	for _, layer := range layers {
		last = max(last, layer)
	}
	inLayer := make([][]int, last+1)
	for box, layer := range layers {
		inLayer[layer] = append(inLayer[layer], box)
	}
	in := make([][]int, len(g.Boxes))
	for i, e := range g.Edges {
		if !backward[i] {
			in[e.To] = append(in[e.To], i)
		}
	}
	// The edges that leave each box, those to near layers first: a path that implies an
	// edge begins with an edge to a layer before that of its end.
	out := make([][]int, len(g.Boxes))
	for _, boxes := range inLayer {
		for _, box := range boxes {
			for _, i := range in[box] {
				out[g.Edges[i].From] = append(out[g.Edges[i].From], i)
			}
		}
	}
	keep := backward
	reached := make([]bits, len(g.Boxes)) // from each box
	for layer := last; layer >= 0; layer-- {
		for _, box := range inLayer[layer] {
			reached[box] = make(bits, (len(g.Boxes)+63)/64)
			for _, i := range out[box] {
				if to := g.Edges[i].To; !reached[box].has(to) {
					keep[i] = true
					reached[box].add(to, reached[to])
				}
			}
		}
	}
	kept := []int{}
	for i, k := range keep {
		if k {
			kept = append(kept, i)
		}
	}
	return kept
}

// Reduce returns the edges that no others imply, see [Graph.Reduced], and the number of
// their steps, see [Graph.Steps]. Ends returns the boxes of an edge, which count from 0.
func Reduce[E any](boxes int, edges []E, ends func(E) Edge) (needed []E, steps int) {
	g := Graph{Boxes: make([]Box, boxes), Edges: make([]Edge, len(edges))}
	for i, e := range edges {
		g.Edges[i] = ends(e)
	}
	reduced := Graph{Boxes: g.Boxes}
	for _, i := range g.Reduced() {
		needed, reduced.Edges = append(needed, edges[i]), append(reduced.Edges, g.Edges[i])
	}
	return needed, reduced.Steps()
}

// bits is a set of boxes.
type bits []uint64

func (b bits) has(box int) bool { return b[box/64]&(1<<(box%64)) != 0 }

// add adds a box and all of others.
func (b bits) add(box int, others bits) {
	b[box/64] |= 1 << (box % 64)
	for i, word := range others {
		b[i] |= word
	}
}

// Steps returns the number of steps of all edges: an edge from one layer to the third after
// it has three. The time and the memory of [Place], and the size of a drawing, grow with it.
func (g Graph) Steps() int {
	layers, backward := assignLayers(g)
	steps := 0
	for i, e := range g.Edges {
		if backward[i] {
			steps++
		} else {
			steps += layers[e.To] - layers[e.From]
		}
	}
	return steps
}
