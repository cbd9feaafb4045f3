package statusview

import (
	"fmt"
	"io"
	"strings"

	"github.com/pequod-io/pequod/cli/style"
	"github.com/pequod-io/pequod/review/drawing"
	"github.com/pequod-io/pequod/review/layout"
)

// WriteDOT prints a report in the language of Graphviz, as one digraph with a
// cluster for each graph. Nodes are colored by phase. Edges lead from a node to
// those that depend on it; those that others imply are left out. Nodes are numbered, since ids and names may contain
// characters that DOT identifiers exclude.
func WriteDOT(w io.Writer, r Report) error {
	var b strings.Builder
	b.WriteString("digraph pequod {\n  rankdir=TB;\n  node [shape=box, style=filled];\n")
	for i, g := range r.Graphs {
		fmt.Fprintf(&b, "  subgraph cluster_%d {\n    label=%s;\n", i+1, style.DOTString(g.Namespace+"/"+g.Name))
		arrows, steps := g.arrows()
		if steps > layout.MaxSteps {
			text := style.DOTString(drawing.TooLarge(len(g.Nodes), len(arrows)), "-o json has all nodes and dependencies.")
			fmt.Fprintf(&b, "    n%d_1 [label=%s];\n  }\n", i+1, text)
			continue
		}
		for k, n := range g.Nodes {
			lines := []string{n.ID, n.Kind + "/" + n.Name, strings.ToLower(string(n.Phase)), n.Message}
			fmt.Fprintf(&b, "    n%d_%d [label=%s, fillcolor=%s];\n", i+1, k+1, style.DOTString(lines...), style.Phase(n.Phase).Fill)
		}
		for _, e := range arrows {
			fmt.Fprintf(&b, "    n%[1]d_%[2]d -> n%[1]d_%[3]d;\n", i+1, e.From+1, e.To+1)
		}
		b.WriteString("  }\n")
	}
	b.WriteString("}\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// arrows returns the dependencies between the nodes of a graph that no others imply, as
// indexes of its nodes, and the number of steps of their drawing.
func (g Graph) arrows() (arrows []layout.Edge, steps int) {
	index := map[string]int{}
	for k, n := range g.Nodes {
		if n.ID != "" { // it has not left the graph
			index[n.ID] = k
		}
	}
	for k, n := range g.Nodes {
		for _, needs := range n.Needs {
			if from, ok := index[needs]; ok {
				arrows = append(arrows, layout.Edge{From: from, To: k})
			}
		}
	}
	return layout.Reduce(len(g.Nodes), arrows, func(e layout.Edge) layout.Edge { return e })
}
