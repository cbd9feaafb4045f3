package graph

import (
	"slices"
	"strings"
)

// CycleError says that nodes wait for each other, so that there is no order.
type CycleError struct {
	// Cycles are closed: each begins and ends with the same id, and every node
	// waits for the one after it.
	Cycles [][]string
}

func (e *CycleError) Error() string {
	lines := make([]string, len(e.Cycles))
	for i, cycle := range e.Cycles {
		lines[i] = cycleText(cycle)
	}
	return strings.Join(lines, "; ")
}

func cycleText(cycle []string) string { return "cycle: " + strings.Join(cycle, " → ") }

// Waves returns the ids of the nodes in the order in which they can be applied:
// a node is in the first wave after those of all that it waits for, and within
// a wave in the order of the ResourceGraph. Nodes that wait for each other are
// a [CycleError].
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

// layers is Kahn's algorithm, a wave at a time. It also returns how many nodes
// are in a cycle or behind one.
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

func (g *Graph) names(nodes []int) []string {
	names := make([]string, len(nodes))
	for i, n := range nodes {
		names[i] = g.ids[n]
	}
	return names
}
