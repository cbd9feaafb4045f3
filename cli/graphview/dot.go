package graphview

import (
	"fmt"
	"strings"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/cli/style"
	"github.com/pequod-io/pequod/review/drawing"
)

// writeDOT writes one digraph with a cluster for each graph. The nodes of a wave
// have the same rank, so Graphviz draws them side by side.
func writeDOT(b *strings.Builder, views []view) {
	b.WriteString("digraph pequod {\n  rankdir=TB;\n  node [shape=box];\n")
	for i, v := range views {
		fmt.Fprintf(b, "  subgraph cluster_%d {\n    label=%s;\n", i+1, style.DOTString(v.title()))
		if v.tooLarge {
			fmt.Fprintf(b, "    g%dn1 [label=%s];\n  }\n", i+1, style.DOTString(drawing.TooLarge(len(v.Nodes), len(v.arrows)), instead))
			continue
		}
		for _, wave := range v.Waves {
			b.WriteString("    {\n      rank=same;\n")
			for _, id := range wave {
				n := v.Nodes[v.byID[id]]
				dashed := ""
				if n.External {
					dashed = ", style=dashed"
				}
				label := style.DOTString(n.label()...)
				fmt.Fprintf(b, "      %s [label=%s%s];\n", v.number(i, id), label, dashed)
			}
			b.WriteString("    }\n")
		}
		for _, e := range v.arrows {
			fmt.Fprintf(b, "    %s -> %s%s;\n", v.number(i, e.Needs), v.number(i, e.Node), dotStyle(e.Kind))
		}
		b.WriteString("  }\n")
	}
	b.WriteString("}\n")
}

// dotStyle returns the attributes of an edge. They tell the same kinds apart as
// the arrows of Mermaid.
func dotStyle(kind graph.EdgeKind) string {
	switch kind {
	case graph.Reference:
		return ` [label="$from"]`
	case graph.Implied:
		return " [style=dashed]"
	}
	return ""
}
