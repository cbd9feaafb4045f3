package statusview

import (
	"fmt"
	"io"
	"strings"

	"github.com/pequod-io/pequod/cli/style"
)

// WriteDOT prints a report in the language of Graphviz, as one digraph with a
// cluster for each graph. Nodes are colored by phase. Edges lead from a node to
// those that depend on it. Nodes are numbered, since ids and names may contain
// characters that DOT identifiers exclude.
func WriteDOT(w io.Writer, r Report) error {
	var b strings.Builder
	b.WriteString("digraph pequod {\n  rankdir=TB;\n  node [shape=box, style=filled];\n")
	for i, g := range r.Graphs {
		fmt.Fprintf(&b, "  subgraph cluster_%d {\n    label=%s;\n", i+1, style.DOTString(g.Namespace+"/"+g.Name))
		number := map[string]string{} // identifiers in DOT by node id
		for k, n := range g.Nodes {
			id := fmt.Sprintf("n%d_%d", i+1, k+1)
			if n.ID != "" {
				number[n.ID] = id
			}
			lines := []string{n.ID, n.Kind + "/" + n.Name, strings.ToLower(string(n.Phase)), n.Message}
			fmt.Fprintf(&b, "    %s [label=%s, fillcolor=%s];\n", id, style.DOTString(lines...), style.Phase(n.Phase).Fill)
		}
		for _, n := range g.Nodes {
			for _, needs := range n.Needs {
				fmt.Fprintf(&b, "    %s -> %s;\n", number[needs], number[n.ID])
			}
		}
		b.WriteString("  }\n")
	}
	b.WriteString("}\n")
	_, err := io.WriteString(w, b.String())
	return err
}
