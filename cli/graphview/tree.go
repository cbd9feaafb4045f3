package graphview

import (
	"fmt"
	"strings"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/cli/style"
	"github.com/pequod-io/pequod/internal/source"
)

// writeTree writes one level of branches below each wave. The dependencies of a
// node end its line, because a node may depend on several others.
func writeTree(b *strings.Builder, views []view, width int) {
	for i, v := range views {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(b, "%s: %s, %s\n", v.title(), source.Count(len(v.Nodes), "node"), source.Count(len(v.Waves), "wave"))
		needs := v.needs(func(e edge) string { return e.Needs + suffix(e.Kind) })
		for i, wave := range v.Waves {
			var rows []string
			for _, id := range wave {
				row := v.Nodes[v.byID[id]].label()
				if len(needs[id]) > 0 {
					row = append(row, "← "+strings.Join(needs[id], ", "))
				}
				rows = append(rows, strings.Join(row, "  "))
			}
			style.WriteBranches(b, fmt.Sprintf("wave %d", i+1), rows, width)
		}
	}
}

// needs returns the dependencies of the nodes that have some, as texts by the id of the
// node. Of many it returns the first, and how many more there are.
func (v view) needs(text func(edge) string) map[string][]string {
	of := map[string][]string{}
	for _, e := range v.arrows {
		of[e.Node] = append(of[e.Node], text(e))
	}
	for id, needs := range of {
		of[id] = style.First(needs)
	}
	return of
}

// suffix marks dependencies that the graph does not list: references in values, and
// those that pequod adds.
func suffix(kind graph.EdgeKind) string {
	switch kind {
	case graph.Reference:
		return " ($from)"
	case graph.Implied:
		return " (implied)"
	}
	return ""
}
