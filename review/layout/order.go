package layout

import (
	"cmp"
	"slices"
)

// rounds is how often order goes through all layers in both directions. More rounds
// rarely remove a crossing.
const rounds = 8

// order sorts the vertices of each layer so that few edges cross. It starts with
// the order of the input and keeps the best order that it saw.
func (p *plan) order() {
	rank := make([]int, len(p.vertices))
	p.rankAll(rank)
	best, crossings := p.clone(), p.crossings(rank)
	for round := 0; round < rounds && crossings > 0; round++ {
		for i := 1; i < len(p.layers); i++ {
			p.sortLayer(i, rank, func(v vertex) []int { return v.left })
		}
		for i := len(p.layers) - 2; i >= 0; i-- {
			p.sortLayer(i, rank, func(v vertex) []int { return v.right })
		}
		p.swapNeighbours(rank)
		if n := p.crossings(rank); n < crossings {
			best, crossings = p.clone(), n
		}
	}
	p.layers = best
}

func (p *plan) clone() [][]int {
	layers := make([][]int, len(p.layers))
	for i, layer := range p.layers {
		layers[i] = slices.Clone(layer)
	}
	return layers
}

func (p *plan) rankAll(rank []int) {
	for _, layer := range p.layers {
		for i, v := range layer {
			rank[v] = i
		}
	}
}

// sortLayer sorts a layer by the mean rank of each vertex's neighbours. A vertex
// without neighbours keeps its place. The mean is compared without division, so
// that it is exact.
func (p *plan) sortLayer(layer int, rank []int, neighbours func(vertex) []int) {
	type place struct{ v, sum, count int }
	var places []place
	var slots []int
	for i, v := range p.layers[layer] {
		next := neighbours(p.vertices[v])
		if len(next) == 0 {
			continue
		}
		sum := 0
		for _, n := range next {
			sum += rank[n]
		}
		places = append(places, place{v, sum, len(next)})
		slots = append(slots, i)
	}
	slices.SortStableFunc(places, func(a, b place) int { return cmp.Compare(a.sum*b.count, b.sum*a.count) })
	for i, slot := range slots {
		p.layers[layer][slot] = places[i].v
		rank[places[i].v] = slot
	}
}

// swapNeighbours exchanges neighbours of a layer as long as that removes crossings.
func (p *plan) swapNeighbours(rank []int) {
	for improved, tries := true, 0; improved && tries < rounds; tries++ {
		improved = false
		for _, layer := range p.layers {
			left := p.ranks(layer, rank, func(v vertex) []int { return v.left })
			right := p.ranks(layer, rank, func(v vertex) []int { return v.right })
			for i := 0; i+1 < len(layer); i++ {
				nowLeft, thenLeft := inversions(left[i], left[i+1])
				nowRight, thenRight := inversions(right[i], right[i+1])
				if thenLeft+thenRight < nowLeft+nowRight {
					for _, s := range [][][]int{left, right} {
						s[i], s[i+1] = s[i+1], s[i]
					}
					layer[i], layer[i+1] = layer[i+1], layer[i]
					rank[layer[i]], rank[layer[i+1]] = i, i+1
					improved = true
				}
			}
		}
	}
}

// ranks returns the sorted ranks of the neighbours of each vertex of a layer.
func (p *plan) ranks(layer, rank []int, neighbours func(vertex) []int) [][]int {
	all := make([][]int, len(layer))
	for i, v := range layer {
		for _, n := range neighbours(p.vertices[v]) {
			all[i] = append(all[i], rank[n])
		}
		slices.Sort(all[i])
	}
	return all
}

// inversions counts the pairs of edges that cross if the vertex whose neighbours have the
// ranks a is above the one with b, and if it is below. Both are sorted.
func inversions(a, b []int) (above, below int) {
	less, upTo := 0, 0 // how many of b are less than rank, and not above it
	for _, rank := range a {
		for less < len(b) && b[less] < rank {
			less++
		}
		for upTo < len(b) && b[upTo] <= rank {
			upTo++
		}
		above += less
		below += len(b) - upTo
	}
	return above, below
}

// crossings counts the pairs of edges that cross. It sorts the edges between two
// layers by their left end and counts the inversions of their right ends with a tree
// of partial sums (Barth, Jünger and Mutzel 2002).
func (p *plan) crossings(rank []int) int {
	total := 0
	for i := 0; i+1 < len(p.layers); i++ {
		var ends []int
		for _, v := range p.layers[i] {
			first := len(ends)
			for _, to := range p.vertices[v].right {
				ends = append(ends, rank[to])
			}
			slices.Sort(ends[first:])
		}
		sums := make([]int, len(p.layers[i+1])+1)
		for seen, end := range ends {
			notAbove := 0
			for k := end + 1; k > 0; k -= k & -k {
				notAbove += sums[k]
			}
			total += seen - notAbove
			for k := end + 1; k < len(sums); k += k & -k {
				sums[k]++
			}
		}
	}
	return total
}
