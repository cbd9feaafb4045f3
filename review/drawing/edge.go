package drawing

import (
	"fmt"
	"strings"

	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/review/layout"
)

// writeEdge writes an arrow. It enters and leaves boxes horizontally, so its head
// is always the same.
func (p placed) writeEdge(b *strings.Builder, i int) {
	e, points := p.Edges[i], p.layout.Edges[i]
	class := e.Kind.class()
	end := points[len(points)-1]
	reason := fmt.Sprintf("%s waits for %s", p.Nodes[e.To].id(), p.Nodes[e.From].id())
	if e.Path != "" {
		reason += ": " + e.Path
	}
	fmt.Fprintf(b, "<g class=\"g-edge%s\"><title>%s</title><path d=\"%s\"/>", class, text(cut(reason, mostName)), curve(points))
	fmt.Fprintf(b, "<path class=\"g-head\" d=\"M%d %dl-8 -4v8z\"/>", end.X, end.Y)
	if e.Kind == Reference {
		fmt.Fprintf(b, "<circle cx=\"%d\" cy=\"%d\" r=\"3.5\"/>", points[0].X, points[0].Y)
	}
	b.WriteString("</g>\n")
}

// class returns the class that an edge has besides g-edge.
func (k EdgeKind) class() string {
	switch k {
	case Implied:
		return " g-implied"
	case Blocking:
		return " g-blocking"
	}
	return ""
}

// curve returns a path through points. Lines through a layer are straight, and
// those between layers are Bézier curves with horizontal ends.
func curve(points []layout.Point) string {
	var b strings.Builder
	fmt.Fprintf(&b, "M%d %d", points[0].X, points[0].Y)
	for k := 1; k < len(points); k++ {
		from, to := points[k-1], points[k]
		if k == len(points)-1 {
			to.X -= 7 // the head covers the end of the line
		}
		switch {
		case from.Y == to.Y:
			fmt.Fprintf(&b, "H%d", to.X)
		default:
			half := (from.X + to.X) / 2
			fmt.Fprintf(&b, "C%d %d %d %d %d %d", half, from.Y, half, to.Y, to.X, to.Y)
		}
	}
	return b.String()
}

// legend returns the kinds of edges to explain: all that occur, if there are
// others than listed dependencies.
func (p placed) legend() []EdgeKind {
	var seen [4]bool
	for _, e := range p.Edges {
		seen[e.Kind] = true
	}
	if !seen[Reference] && !seen[Implied] && !seen[Blocking] {
		return nil
	}
	var kinds []EdgeKind
	for kind, there := range seen {
		if there {
			kinds = append(kinds, EdgeKind(kind))
		}
	}
	return kinds
}

func legendText(kind EdgeKind) string {
	return [...]string{"listed dependency", "value of a field ($from)", "added by pequod", "blocks"}[kind]
}

// legendEntry is the width of an arrow of the legend with its gaps.
const legendEntry = 50

func legendWidth(kinds []EdgeKind) int {
	width := 0
	for _, kind := range kinds {
		width += legendEntry + int(float64(len(legendText(kind)))*letterWidth)
	}
	return width
}

// impliedText tells how many arrows are left out, or is empty.
func (p placed) impliedText() string {
	if p.implied == 0 {
		return ""
	}
	return "left out: " + source.Count(p.implied, "arrow") + " that others imply"
}

func (p placed) writeLegend(b *strings.Builder) {
	kinds := p.legend()
	if p.implied > 0 {
		fmt.Fprintf(b, "<text class=\"g-trait\" x=\"4\" y=\"%d\">%s</text>\n", p.height()-6, p.impliedText())
	}
	if len(kinds) == 0 {
		return
	}
	fmt.Fprintf(b, "<g transform=\"translate(0 %d)\" aria-hidden=\"true\">\n", p.header()+p.layout.Height+legendSpace-6)
	for i, kind := range kinds {
		x := legendWidth(kinds[:i])
		class := kind.class()
		fmt.Fprintf(b, "<g class=\"g-edge%s\"><path d=\"M%d -4h22\"/><path class=\"g-head\" d=\"M%d -4l-8 -4v8z\"/>", class, x+4, x+33)
		if kind == Reference {
			fmt.Fprintf(b, "<circle cx=\"%d\" cy=\"-4\" r=\"3.5\"/>", x+4)
		}
		fmt.Fprintf(b, "</g><text class=\"g-trait\" x=\"%d\">%s</text>\n", x+40, legendText(kind))
	}
	b.WriteString("</g>\n")
}
