package layout

// assignLayers returns the layer of each box: the length of the longest path to it.
// For the graph of an instance, that is the wave in which a node is applied. It also
// reports which edges close a cycle; those are ignored.
func assignLayers(g Graph) (layers []int, backward []bool) {
	backward = cycleEdges(g)
	waiting := make([]int, len(g.Boxes)) // edges to the box that are not yet seen
	out := outgoing(g)
	for i, e := range g.Edges {
		if !backward[i] {
			waiting[e.To]++
		}
	}
	var ready []int
	for i, n := range waiting {
		if n == 0 {
			ready = append(ready, i)
		}
	}
	layers = make([]int, len(g.Boxes))
	for len(ready) > 0 {
		from := ready[0]
		ready = ready[1:]
		for _, i := range out[from] {
			if backward[i] {
				continue
			}
			to := g.Edges[i].To
			layers[to] = max(layers[to], layers[from]+1)
			if waiting[to]--; waiting[to] == 0 {
				ready = append(ready, to)
			}
		}
	}
	return layers, backward
}

// outgoing returns the indexes of the edges that leave each box.
func outgoing(g Graph) [][]int {
	out := make([][]int, len(g.Boxes))
	for i, e := range g.Edges {
		out[e.From] = append(out[e.From], i)
	}
	return out
}

// cycleEdges reports for each edge whether it leads back to a box on the current
// path of a depth-first search. The search keeps its own stack, because graphs may
// be deeper than is good for recursion.
func cycleEdges(g Graph) []bool {
	type frame struct{ box, next int }
	const unseen, open, done = 0, 1, 2
	backward := make([]bool, len(g.Edges))
	state := make([]int, len(g.Boxes))
	out := outgoing(g)
	for root := range g.Boxes {
		if state[root] != unseen {
			continue
		}
		state[root] = open
		for stack := []frame{{box: root}}; len(stack) > 0; {
			top := &stack[len(stack)-1]
			if top.next == len(out[top.box]) {
				state[top.box] = done
				stack = stack[:len(stack)-1]
				continue
			}
			i := out[top.box][top.next]
			top.next++
			switch to := g.Edges[i].To; state[to] {
			case open:
				backward[i] = true
			case unseen:
				state[to] = open
				stack = append(stack, frame{box: to})
			}
		}
	}
	return backward
}
