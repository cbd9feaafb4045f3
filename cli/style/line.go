package style

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Span is text in one style.
type Span struct {
	Style Style
	Text  string
}

// Line is a line of output. Its text has no newlines.
type Line []Span

// Render returns the text of the line as p colors it, without trailing spaces. A
// line that is wider than limit is cut, and ends in an ellipsis; 0 means no limit.
func (l Line) Render(p Painter, limit int) string {
	text := strings.TrimRight(l.paint(p), " ")
	if limit > 0 {
		text = ansi.Truncate(text, limit, "…")
	}
	return text
}

// paint returns the text of the line as p colors it.
func (l Line) paint(p Painter) string {
	var b strings.Builder
	for _, s := range l {
		b.WriteString(p.Paint(s.Style, s.Text))
	}
	return b.String()
}
