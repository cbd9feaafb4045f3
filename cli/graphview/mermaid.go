package graphview

import (
	"fmt"
	"strings"

	"github.com/pequod-io/pequod/review/drawing"
)

// writeMermaid writes a flowchart with a subgraph for each graph and, inside it,
// for each wave. Nodes are numbered, because Mermaid's identifiers exclude many
// characters of node ids, and words such as end. External nodes have round ends.
//
// The syntax is that of https://mermaid.js.org/syntax/flowchart.html.
func writeMermaid(b *strings.Builder, views []view) {
	b.WriteString("flowchart TB\n")
	for i, v := range views {
		fmt.Fprintf(b, "  subgraph g%d[%s]\n", i+1, drawing.MermaidLabel(v.title()))
		if v.tooLarge {
			fmt.Fprintf(b, "    g%dn1[%s]\n  end\n", i+1, drawing.MermaidLabel(drawing.TooLarge(len(v.Nodes), len(v.arrows)), instead))
			continue
		}
		for k, wave := range v.Waves {
			fmt.Fprintf(b, "    subgraph g%dw%d[\"wave %d\"]\n", i+1, k+1, k+1)
			for _, id := range wave {
				n := v.Nodes[v.byID[id]]
				label := drawing.MermaidLabel(n.label()...)
				if n.External {
					label = "([" + label + "])"
				} else {
					label = "[" + label + "]"
				}
				fmt.Fprintf(b, "      %s%s\n", v.number(i, id), label)
			}
			b.WriteString("    end\n")
		}
		for _, e := range v.arrows {
			fmt.Fprintf(b, "    %s %s %s\n", v.number(i, e.Needs), drawing.MermaidArrow(e.Kind), v.number(i, e.Node))
		}
		b.WriteString("  end\n")
	}
}

// number returns the identifier of a node in Mermaid and DOT, such as g1n2. It is
// unique over all graphs; graph is the index of v among them.
func (v view) number(graph int, id string) string {
	return fmt.Sprintf("g%dn%d", graph+1, v.byID[id]+1)
}
