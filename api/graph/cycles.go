package graph

import "slices"

// maxCycles limits the number of reported cycles. A graph can have exponentially
// many, and an author who has fixed ten validates the graph again anyway.
const maxCycles = 10

// cycles returns cycles as closed walks of node indexes, each starting at its node
// that is declared first. For every edge that is part of any cycle, a shortest
// cycle through it is returned, unless the limit is reached. So breaking all
// returned cycles breaks every cycle.
func (g *Graph) cycles() [][]int {
	component := g.components()
	type arc struct{ from, to int }
	covered := map[arc]bool{}
	var found [][]int
	for from, needs := range g.needs {
		for _, to := range needs {
			// An edge between two components is in no cycle.
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

// rotate returns a closed walk that starts and ends at its smallest index. For [2
// 1 3 2] it returns [1 3 2 1].
func rotate(cycle []int) []int {
	open := cycle[:len(cycle)-1]
	i := slices.Index(open, slices.Min(open))
	return slices.Concat(open[i:], open[:i], open[i:i+1])
}

// shortest returns a shortest path between two nodes of one strongly connected
// component, both included. It is a breadth-first search.
func (g *Graph) shortest(from, to int, component []int) []int {
	previous := map[int]int{from: from}
	for queue := []int{from}; len(queue) > 0; queue = queue[1:] {
		i := queue[0]
		if i == to {
			break
		}
		for _, j := range g.needs[i] {
			if _, seen := previous[j]; !seen && component[j] == component[from] {
				previous[j] = i
				queue = append(queue, j)
			}
		}
	}
	path := []int{to}
	for i := to; i != from; i = previous[i] {
		path = append(path, previous[i])
	}
	slices.Reverse(path)
	return path
}

// components returns the number of the strongly connected component of each node,
// by Tarjan's algorithm. Two nodes have the same number if each is reachable from
// the other, that is, if they are part of a cycle. Only the equality of the
// numbers matters.
func (g *Graph) components() []int {
	n := len(g.Nodes)
	// order is the number of a node in the order of the visit, from 1, and 0
	// before it. low is the smallest order that is known to be reachable from the
	// node within the stack. The stack has the visited nodes whose component is
	// not complete.
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
		// i is the first visited node of its component, so the component is the
		// stack from i upwards.
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
