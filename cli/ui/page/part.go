package page

import (
	"slices"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// maxDrawn is the largest number of nodes that are drawn. A drawing of more is too large to
// read, and to send again with each change.
const maxDrawn = 300

// maxPart is the largest number of nodes in the drawing of a larger graph.
const maxPart = 60

// drawn returns the indexes of the rows to draw, in ascending order. Of a large graph it
// returns a part: nodes that need attention, failed ones first, and then their neighbours.
// If no node needs attention, the part starts at the nodes without dependencies.
func drawn(rows []row) []int {
	if len(rows) <= maxDrawn {
		all := make([]int, len(rows))
		for i := range rows {
			all[i] = i
		}
		return all
	}
	next := neighbours(rows)
	var part []int
	seen := make([]bool, len(rows))
	add := func(i int) {
		if !seen[i] && len(part) < maxPart {
			seen[i] = true
			part = append(part, i)
		}
	}
	for _, wanted := range []func(row) bool{
		func(r row) bool { return r.Phase == v1alpha1.NodeFailed || r.Phase == v1alpha1.NodeDegraded },
		// A node that blocks others comes before those that it blocks.
		func(r row) bool { return r.Phase != v1alpha1.NodeReady && len(r.Blocks) > 0 },
		func(r row) bool { return r.Phase != v1alpha1.NodeReady },
		func(r row) bool { return r.Class == "drifted" },
	} {
		for i, r := range rows {
			if wanted(r) {
				add(i)
			}
		}
	}
	// The breadth-first search draws near neighbours before distant ones.
	at := 0
	spread := func() {
		for ; at < len(part); at++ {
			for _, i := range next[part[at]] {
				add(i)
			}
		}
	}
	spread()
	if len(part) == 0 {
		for i, r := range rows {
			if len(r.Needs) == 0 {
				add(i)
				spread()
			}
		}
	}
	slices.Sort(part)
	return part
}

// neighbours returns, for each row, the rows that it needs and those that need it.
func neighbours(rows []row) [][]int {
	index := byID(rows)
	next := make([][]int, len(rows))
	for i, r := range rows {
		for _, id := range r.Needs {
			if from, ok := index[id]; ok {
				next[i] = append(next[i], from)
				next[from] = append(next[from], i)
			}
		}
	}
	return next
}

// byID returns the indexes of the rows of nodes. A node that left the graph has no id.
func byID(rows []row) map[string]int {
	index := map[string]int{}
	for i, r := range rows {
		if r.ID != "" {
			index[r.ID] = i
		}
	}
	return index
}
