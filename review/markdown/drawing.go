package markdown

import (
	"fmt"
	"strings"

	"github.com/pequod-io/pequod/review"
	"github.com/pequod-io/pequod/review/drawing"
	"github.com/pequod-io/pequod/review/text"
)

// drawings writes the changed parts of graphs: as Mermaid while they have at most
// review.MaxDrawn nodes together, and the others as trees.
func (b *writer) drawings(all []review.Drawing) {
	left := review.MaxDrawn
	for i, d := range all {
		if i >= b.cut.groups {
			return // the changes that it shows are left out, and counted
		}
		fmt.Fprintf(b, "\n<details><summary>%s</summary>\n\n", inHTML(d.Heading()))
		if len(d.Nodes) <= left {
			left -= len(d.Nodes)
			b.fence("mermaid", mermaid(d))
		} else {
			var lines []string
			for _, l := range text.Tree(d) {
				sign := l.Sign
				if sign == '~' {
					sign = '!'
				}
				lines = append(lines, strings.TrimRight(fmt.Sprintf("%c %*s%s", sign, l.Indent, "", review.Clip(l.Text)), " "))
			}
			b.fence("diff", lines)
		}
		b.WriteString("\n</details>\n")
	}
}

// mermaid returns a flowchart. The syntax is that of
// https://mermaid.js.org/syntax/flowchart.html.
func mermaid(d review.Drawing) []string {
	lines := []string{"flowchart TB"}
	for i, n := range d.Nodes {
		class := ""
		if n.Action != "" {
			class = ":::" + string(n.Action) // add, change or remove
		}
		lines = append(lines, fmt.Sprintf("  n%d[%s]%s", i+1, drawing.MermaidLabel(shortened(n.ID), shortened(n.Kind+"/"+n.Name)), class))
	}
	for _, e := range d.Edges {
		lines = append(lines, fmt.Sprintf("  n%d %s n%d", e.From+1, drawing.MermaidArrow(e.Kind), e.To+1))
	}
	// The colors have enough contrast on light and dark backgrounds.
	return append(lines,
		"  classDef add stroke:#2da44e,stroke-width:3px",
		"  classDef change stroke:#bf8700,stroke-width:3px",
		"  classDef remove stroke:#cf222e,stroke-width:3px,stroke-dasharray:5 5")
}

// maxLabel is the largest number of characters of a line in a node.
const maxLabel = 60

// shortened cuts a line for a node.
func shortened(line string) string {
	if r := []rune(line); len(r) > maxLabel {
		return string(r[:maxLabel]) + "…"
	}
	return line
}
