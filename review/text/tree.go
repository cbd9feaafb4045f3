package text

import (
	"fmt"

	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/review"
)

// neighbourhood prints the drawings as trees: each changed node, and below it the nodes that
// depend on it.
func (b writer) neighbourhood(all []review.Drawing) {
	for _, d := range all {
		b.printf("\n")
		b.title(d.Heading())
		for _, l := range Tree(d) {
			b.line(l.Sign, false, l.Indent, l.Text)
		}
	}
}

// TreeLine is a line of a drawing as a tree.
type TreeLine struct {
	Sign   byte
	Indent int
	Text   string
}

// Tree returns a drawing as lines: each node that nothing in the drawing precedes, and
// indented below it those that wait for it. A node with several such nodes is repeated only
// by its name.
func Tree(d review.Drawing) []TreeLine {
	after := map[int][]int{}
	waits := map[int]bool{}
	for _, e := range d.Edges {
		after[e.From] = append(after[e.From], e.To)
		waits[e.To] = true
	}
	var lines []TreeLine
	seen := map[int]bool{}
	var visit func(n, depth int)
	visit = func(n, depth int) {
		node := d.Nodes[n]
		l := TreeLine{Sign: ' ', Indent: 2 * depth, Text: fmt.Sprintf("%s  %s/%s", node.ID, node.Kind, node.Name)}
		if node.Action != "" {
			l.Sign = node.Action.Sign()
		}
		l.Text = source.Escape(l.Text, "")
		if seen[n] {
			l.Text = source.Escape(node.ID, "") + "  (shown above)"
			lines = append(lines, l)
			return
		}
		seen[n] = true
		lines = append(lines, l)
		for _, next := range after[n] {
			visit(next, depth+1)
		}
	}
	for n := range d.Nodes {
		if !waits[n] {
			visit(n, 0)
		}
	}
	return lines
}
