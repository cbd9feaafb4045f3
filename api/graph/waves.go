package graph

import (
	"slices"
	"strings"
)

// CycleError reports that nodes depend on each other, so that no apply order exists.
type CycleError struct {
	// Cycles are the cycles as lists of node ids. Each list starts and ends with the
	// same id, and every node depends on the next one.
	Cycles [][]string
}

// Error returns one line with all cycles, such as "cycle: a → b → a".
func (e *CycleError) Error() string {
	lines := make([]string, len(e.Cycles))
	for i, cycle := range e.Cycles {
		lines[i] = cycleText(cycle)
	}
	return strings.Join(lines, "; ")
}

// cycleText formats a cycle of node ids.
func cycleText(cycle []string) string { return "cycle: " + strings.Join(cycle, " → ") }

// Waves returns the ids of the nodes in apply order. A node is in the first wave
// after the waves of all its dependencies; within a wave, nodes are in the order of
// the ResourceGraph. If nodes depend on each other, the error is a *[CycleError].
func (g *Graph) Waves() ([][]string, error) {
	waves, rest := g.layers()
	if rest > 0 {
		found := g.cycles()
		cycles := make([][]string, len(found))
		for i, cycle := range found {
			cycles[i] = g.names(cycle)
		}
		return nil, &CycleError{Cycles: cycles}
	}
	named := make([][]string, len(waves))
	for i, wave := range waves {
		slices.Sort(wave)
		named[i] = g.names(wave)
	}
	return named, nil
}

// layers returns the waves as node indexes, by Kahn's algorithm. rest is the
// number of nodes that are part of a cycle or depend on one; they are in no wave.
// Each round takes the nodes that wait for nothing, and removes them from the
// nodes that depend on them. The time is linear in the number of nodes and edges.
func (g *Graph) layers() (waves [][]int, rest int) {
	waiting := make([]int, len(g.Nodes))
	dependents := make([][]int, len(g.Nodes))
	var wave []int
	for i, needs := range g.needs {
		waiting[i] = len(needs)
		for _, j := range needs {
			dependents[j] = append(dependents[j], i)
		}
		if len(needs) == 0 {
			wave = append(wave, i)
		}
	}
	rest = len(g.Nodes)
	for len(wave) > 0 {
		waves = append(waves, wave)
		rest -= len(wave)
		var next []int
		for _, i := range wave {
			for _, j := range dependents[i] {
				if waiting[j]--; waiting[j] == 0 {
					next = append(next, j)
				}
			}
		}
		wave = next
	}
	return waves, rest
}

// names returns the ids of nodes.
func (g *Graph) names(nodes []int) []string {
	names := make([]string, len(nodes))
	for i, n := range nodes {
		names[i] = g.ids[n]
	}
	return names
}
