package statusview

import (
	"fmt"
	"io"
	"strings"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/source"
)

// WriteDOT prints a report in the language of Graphviz, as one digraph with a
// cluster for each graph. Nodes are colored by phase. Edges lead from a node to
// those that depend on it. Nodes are numbered, since ids and names may contain
// characters that DOT identifiers exclude.
func WriteDOT(w io.Writer, r Report) error {
	var b strings.Builder
	b.WriteString("digraph pequod {\n  rankdir=TB;\n  node [shape=box, style=filled];\n")
	for i, g := range r.Graphs {
		fmt.Fprintf(&b, "  subgraph cluster_%d {\n    label=%s;\n", i+1, quote(g.Namespace+"/"+g.Name))
		number := map[string]string{} // identifiers in DOT by node id
		for k, n := range g.Nodes {
			id := fmt.Sprintf("n%d_%d", i+1, k+1)
			if n.ID != "" {
				number[n.ID] = id
			}
			lines := []string{n.ID, n.Kind + "/" + n.Name, strings.ToLower(string(n.Phase)), n.Message}
			fmt.Fprintf(&b, "    %s [label=%s, fillcolor=%s];\n", id, quote(lines...), fillColor(n.Phase))
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

// fillColor returns the color of a phase, as Graphviz names it.
func fillColor(phase v1alpha1.NodePhase) string {
	switch phase {
	case v1alpha1.NodeReady:
		return "palegreen"
	case v1alpha1.NodeFailed:
		return "salmon"
	case v1alpha1.NodeBlocked:
		return "lightgrey"
	}
	return "khaki"
}

// quote returns a DOT string of the lines that are not empty. DOT breaks lines at
// the escape sequence \n.
func quote(lines ...string) string {
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	var shown []string
	for _, line := range lines {
		if line != "" {
			shown = append(shown, escape.Replace(source.Escape(line, "")))
		}
	}
	return `"` + strings.Join(shown, `\n`) + `"`
}
