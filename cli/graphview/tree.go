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
		// The dependencies by the id of the node that has them.
		needs := map[string][]string{}
		for _, e := range v.Edges {
			needs[e.Node] = append(needs[e.Node], e.Needs+suffix(e.Kind))
		}
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
