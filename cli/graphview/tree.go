package graphview

import (
	"fmt"
	"strings"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/internal/source"
)

// writeTree writes one level of branches below each wave: what a node waits for
// stands behind it, because a node may wait for several.
func writeTree(b *strings.Builder, views []view) {
	for i, v := range views {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(b, "%s: %s, %s\n", v.title(), source.Count(len(v.Nodes), "node"), source.Count(len(v.Waves), "wave"))
		needs := map[string][]string{}
		for _, e := range v.Edges {
			needs[e.Node] = append(needs[e.Node], e.Needs+suffix(e.Kind))
		}
		for i, wave := range v.Waves {
			fmt.Fprintf(b, "wave %d\n", i+1)
			for k, id := range wave {
				branch := "├── "
				if k == len(wave)-1 {
					branch = "└── "
				}
				n := v.Nodes[v.byID[id]]
				line := append([]string{n.ID, n.object()}, n.traits()...)
				if len(needs[id]) > 0 {
					line = append(line, "← "+strings.Join(needs[id], ", "))
				}
				b.WriteString(branch + strings.Join(line, "  ") + "\n")
			}
		}
	}
}

func suffix(kind graph.EdgeKind) string {
	switch kind {
	case graph.Reference:
		return " ($from)"
	case graph.Implied:
		return " (implied)"
	}
	return ""
}
