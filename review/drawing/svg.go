package drawing

import (
	"encoding/xml"
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/review/layout"
)

// The sizes of a drawing, in pixels. Text is monospaced, so its width is known
// without its font: letterWidth is that of the widest common one at 12 pixels.
const (
	letterWidth = 7.3
	lineHeight  = 17
	padding     = 10
	leastWidth  = 120
	mostLetters = 40  // in a box
	mostName    = 800 // in an accessible name: more than any name of Kubernetes
	headerSpace = 26  // above the columns, for their titles
	badgeSpace  = 10  // above columns without titles, for badges
	titleHeight = 28
	margin      = 12
	legendSpace = 30
)

// Document returns an SVG document with graphs below each other.
func Document(graphs []Graph) string {
	var body strings.Builder
	width, height := 0, margin
	for _, g := range graphs {
		p := place(g)
		fmt.Fprintf(&body, "<g transform=\"translate(%d %d)\">\n", margin, height)
		fmt.Fprintf(&body, "<text class=\"g-title\" y=\"14\" aria-hidden=\"true\">%s</text>\n", text(cut(g.Title, max(mostLetters, int(float64(p.width())/letterWidth)))))
		fmt.Fprintf(&body, "<g transform=\"translate(0 %d)\">\n", titleHeight)
		p.write(&body)
		body.WriteString("</g>\n</g>\n")
		width = max(width, p.width())
		height += titleHeight + p.height() + 2*margin
	}
	var b strings.Builder
	width += 2 * margin
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"graph\" width=\"%[1]d\" height=\"%[2]d\" viewBox=\"0 0 %[1]d %[2]d\" role=\"group\" aria-label=\"%[3]s\">\n",
		width, height, source.Count(len(graphs), "graph"))
	fmt.Fprintf(&b, "<style>\n%s</style>\n<rect class=\"g-page\" width=\"%d\" height=\"%d\"/>\n", Style, width, height)
	b.WriteString(body.String())
	b.WriteString("</svg>\n")
	return b.String()
}

// Element returns an svg element for an HTML page whose style sheet contains
// [Style]. It lacks the title of the graph, which the page should have as text.
func Element(g Graph) string {
	var b strings.Builder
	p := place(g)
	width, height := p.width()+2*margin, p.height()+2*margin
	fmt.Fprintf(&b, "<svg class=\"graph\" width=\"%[1]d\" height=\"%[2]d\" viewBox=\"%[3]d %[3]d %[1]d %[2]d\">\n", width, height, -margin)
	p.write(&b)
	b.WriteString("</svg>\n")
	return b.String()
}

// placed is a graph with its layout.
type placed struct {
	Graph  // without the edges that others imply
	sizes  []layout.Box
	layout layout.Layout
	// instead has the lines that replace a drawing that is too large.
	instead []string
	implied int // number of edges that are left out
}

func place(g Graph) placed {
	var plan layout.Graph
	for _, n := range g.Nodes {
		letters := 0
		for _, line := range n.Lines {
			letters = max(letters, ansi.StringWidth(cut(line, mostLetters)))
		}
		plan.Boxes = append(plan.Boxes, layout.Box{
			Width:  max(leastWidth, int(float64(letters)*letterWidth)+2*padding),
			Height: len(n.Lines)*lineHeight + padding,
		})
	}
	for _, e := range g.Edges {
		plan.Edges = append(plan.Edges, layout.Edge{From: e.From, To: e.To})
	}
	all := g.Edges
	g.Edges, plan.Edges = g.drawn(plan)
	if plan.Steps() > layout.MaxSteps {
		lines := []string{TooLarge(len(g.Nodes), len(g.Edges)), g.Instead}
		g.Nodes, g.Edges = nil, nil
		return placed{Graph: g, instead: lines}
	}
	l := layout.Place(plan, layout.Options{Columns: 56, Rows: 18, Lanes: 14})
	// The boxes of a column have the same width, so that arrows end at its edge.
	for i := range plan.Boxes {
		plan.Boxes[i].Width = l.Columns[l.Layers[i]].Width
	}
	for i, e := range g.Edges {
		l.Edges[i][0].X = l.Boxes[e.From].X + plan.Boxes[e.From].Width
	}
	return placed{Graph: g, sizes: plan.Boxes, layout: l, implied: len(all) - len(g.Edges)}
}

func (p placed) width() int {
	letters := len(p.impliedText())
	for _, line := range p.instead {
		letters = max(letters, len(line))
	}
	return max(p.layout.Width, legendWidth(p.legend()), int(float64(letters)*letterWidth))
}

func (p placed) height() int {
	if p.instead != nil {
		return len(p.instead) * lineHeight
	}
	height := p.header() + p.layout.Height
	for _, there := range []bool{len(p.legend()) > 0, p.implied > 0} {
		if there {
			height += legendSpace
		}
	}
	return height
}

// header is the space above the boxes.
func (p placed) header() int {
	if p.Headings != nil && len(p.Headings) == 0 {
		return badgeSpace
	}
	return headerSpace
}

// write writes the columns, arrows, boxes and legend of a graph. Arrows are hidden
// from assistive technology, because the names of nodes tell what they wait for.
func (p placed) write(b *strings.Builder) {
	if p.instead != nil {
		for i, line := range p.instead {
			fmt.Fprintf(b, "<text class=\"g-line\" y=\"%d\">%s</text>\n", 13+i*lineHeight, text(line))
		}
		return
	}
	b.WriteString("<g aria-hidden=\"true\">\n")
	for i, c := range p.layout.Columns {
		if p.heading(i) == "" {
			continue
		}
		fmt.Fprintf(b, "<text class=\"g-wave\" x=\"%d\" y=\"12\">%s</text>\n", c.X, text(cut(p.heading(i), mostLetters)))
	}
	fmt.Fprintf(b, "<g transform=\"translate(0 %d)\">\n", p.header())
	for i := range p.Edges {
		p.writeEdge(b, i)
	}
	b.WriteString("</g>\n</g>\n")
	fmt.Fprintf(b, "<g role=\"list\" aria-label=\"%s\" transform=\"translate(0 %d)\">\n", text(cut(p.summary(len(p.layout.Columns)), mostName)), p.header())
	waits := p.waits()
	for i := range p.Nodes {
		p.writeNode(b, i, waits[i])
	}
	b.WriteString("</g>\n")
	p.writeLegend(b)
}

// writeNode writes a box. Its mark is a badge on the upper border, and a class.
func (p placed) writeNode(b *strings.Builder, i int, waits []string) {
	n, at, size := p.Nodes[i], p.layout.Boxes[i], p.sizes[i]
	class := "g-node"
	if n.External {
		class += " g-external"
	}
	if n.Mark != Unmarked {
		class += " g-" + n.Mark.class()
	}
	name := text(cut(n.name(p.heading(p.layout.Layers[i]), waits), mostName))
	fmt.Fprintf(b, "<g role=\"listitem\" class=\"%s\" transform=\"translate(%d %d)\">", class, at.X, at.Y)
	if n.Link != "" {
		fmt.Fprintf(b, "<a href=\"%s\">", text(n.Link))
	}
	round := 6
	if n.External {
		round = 16
	}
	// The title is the accessible name, and what is shown beside the pointer.
	fmt.Fprintf(b, "<title>%s</title><rect width=\"%d\" height=\"%d\" rx=\"%d\"/><g aria-hidden=\"true\">", name, size.Width, size.Height, round)
	for k, line := range n.Lines {
		class := "g-line"
		if k == 0 {
			class = "g-id"
		} else if k > 1 {
			class = "g-trait"
		}
		fmt.Fprintf(b, "<text class=\"%s\" x=\"%d\" y=\"%d\">%s</text>", class, padding, padding/2+13+k*lineHeight, text(cut(line, mostLetters)))
	}
	if n.Mark != Unmarked {
		label := n.Mark.sign() + " " + n.Mark.class()
		width := int(float64(len(n.Mark.class())+2)*6.2) + 10
		fmt.Fprintf(b, "<g class=\"g-badge\" transform=\"translate(%d -9)\"><rect width=\"%d\" height=\"16\" rx=\"8\"/><text x=\"%d\" y=\"12\">%s</text></g>",
			size.Width-width-6, width, width/2, label)
	}
	b.WriteString("</g>")
	if n.Link != "" {
		b.WriteString("</a>")
	}
	b.WriteString("</g>\n")
}

// text returns s as the text of an element or as a value in quotes. Characters that
// XML excludes and those that are invisible become escape sequences.
func text(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(source.Escape(s, ""))) // a Builder returns no errors
	return b.String()
}

// cut shortens a text to a width in letters. It escapes first, so that neither
// sequences nor invisible characters count as nothing.
func cut(s string, letters int) string { return ansi.Truncate(source.Escape(s, ""), letters, "…") }
