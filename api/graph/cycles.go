package graph

import "slices"

// maxCycles bounds how many cycles are told: their number can grow
// exponentially, and who has mended ten looks again.
const maxCycles = 10

// cycles returns closed walks of node indexes, each beginning at the node that
// is declared first. Together they cover every edge that is part of a cycle,
// each by a shortest cycle through it; to break them all breaks every cycle.
func (g *Graph) cycles() [][]int {
	component := g.components()
	type arc struct{ from, to int }
	covered := map[arc]bool{}
	var found [][]int
	for from, needs := range g.needs {
		for _, to := range needs {
			if component[from] != component[to] || covered[arc{from, to}] {
				continue
			}
			cycle := rotate(append([]int{from}, g.shortest(to, from, component)...))
			for i := range len(cycle) - 1 {
				covered[arc{cycle[i], cycle[i+1]}] = true
			}
			if found = append(found, cycle); len(found) == maxCycles {
				return found
			}
		}
	}
	return found
}

// rotate makes a closed walk begin at its smallest node.
func rotate(cycle []int) []int {
	open := cycle[:len(cycle)-1]
	i := slices.Index(open, slices.Min(open))
	return slices.Concat(open[i:], open[:i], open[i:i+1])
}

// shortest returns a shortest way between two nodes of one component.
func (g *Graph) shortest(from, to int, component []int) []int {
	back := map[int]int{from: from}
	for queue := []int{from}; len(queue) > 0; queue = queue[1:] {
		i := queue[0]
		if i == to {
			break
		}
		for _, j := range g.needs[i] {
			if _, seen := back[j]; !seen && component[j] == component[from] {
				back[j] = i
				queue = append(queue, j)
			}
		}
	}
	way := []int{to}
	for i := to; i != from; i = back[i] {
		way = append(way, back[i])
	}
	slices.Reverse(way)
	return way
}

// components numbers the strongly connected components (Tarjan): two nodes have
// the same number if each can be reached from the other.
func (g *Graph) components() []int {
	n := len(g.Nodes)
	component, order, low := make([]int, n), make([]int, n), make([]int, n)
	onStack := make([]bool, n)
	var stack []int
	visited, components := 0, 0
	var visit func(int)
	visit = func(i int) {
		visited++
		order[i], low[i] = visited, visited
		stack, onStack[i] = append(stack, i), true
		for _, j := range g.needs[i] {
			switch {
			case order[j] == 0:
				visit(j)
				low[i] = min(low[i], low[j])
			case onStack[j]:
				low[i] = min(low[i], order[j])
			}
		}
		if low[i] != order[i] {
			return
		}
		for {
			j := stack[len(stack)-1]
			stack, onStack[j] = stack[:len(stack)-1], false
			component[j] = components
			if j == i {
				break
			}
		}
		components++
	}
	for i := range n {
		if order[i] == 0 {
			visit(i)
		}
	}
	return component
}
