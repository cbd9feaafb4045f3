// Package style has the look of the commands' output, drawn with lipgloss:
// [Painter] colors text, [Line] is a line of colored spans that can be cut to the
// width of a terminal, [WriteBranches] draws one level of a tree, [Columns] aligns
// the rows of a tree, and [Table] draws a table. [Colored] and [TerminalWidth]
// decide for an output whether it is colored and where its lines are wrapped.
//
// All widths are columns of a terminal, in which wide characters and emoji take two
// and combining marks none. Without color and width, output is plain text that
// depends on nothing but the arguments.
//
// Non-goals: the package doesn't escape. It expects text that is safe to print;
// internal/source has the function that makes it so.
package style

import (
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// Style is a color or weight of text. Styles can be combined with Inherit:
// Bold.Inherit(Red). The zero value, Plain, changes nothing.
type Style = lipgloss.Style

// The styles. All terminals have these colors, and users choose their shades.
var (
	Plain  = Style{}
	Bold   = lipgloss.NewStyle().Bold(true)
	Dim    = lipgloss.NewStyle().Faint(true)
	Red    = lipgloss.NewStyle().Foreground(lipgloss.Red)
	Green  = lipgloss.NewStyle().Foreground(lipgloss.Green)
	Yellow = lipgloss.NewStyle().Foreground(lipgloss.Yellow)
	Blue   = lipgloss.NewStyle().Foreground(lipgloss.Blue)
)

// Painter colors text. The zero value returns text as it is.
type Painter struct{ Color bool }

// Paint returns one line of text in a style. Empty text yields empty text.
func (p Painter) Paint(s Style, text string) string {
	if !p.Color || text == "" {
		return text
	}
	return s.Inline(true).TabWidth(lipgloss.NoTabConversion).Render(text)
}

// Sign returns a line of a difference in the color of its sign: '+', '-', '~' or '!'. Other
// signs have no color.
func (p Painter) Sign(sign byte, bold bool, text string) string {
	base := Plain
	if bold {
		base = Bold
	}
	return p.Paint(base.Inherit(map[byte]Style{'+': Green, '-': Red, '~': Yellow, '!': Yellow}[sign]), text)
}

// Width returns the number of terminal columns that text takes.
func Width(text string) int { return lipgloss.Width(text) }

// Pad appends spaces to text until it takes the given number of columns.
func Pad(text string, columns int) string {
	return lipgloss.PlaceHorizontal(columns, lipgloss.Left, text)
}

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

// PhaseStyle has the symbol and the colors of a phase of a node.
type PhaseStyle struct {
	// Symbol tells the phases apart that matter, for terminals without color.
	Symbol string
	Color  Style
	// Fill is the color of a box, as Graphviz names it.
	Fill string
}

// Phase returns the style of a phase. The empty phase and unknown ones are pending.
func Phase(phase v1alpha1.NodePhase) PhaseStyle {
	switch phase {
	case v1alpha1.NodeReady:
		return PhaseStyle{"✓", Green, "palegreen"}
	case v1alpha1.NodeFailed, v1alpha1.NodeDegraded:
		return PhaseStyle{"✗", Red, "salmon"}
	case v1alpha1.NodeApplying, v1alpha1.NodeProgressing:
		return PhaseStyle{"▸", Yellow, "khaki"}
	case v1alpha1.NodeWaiting:
		return PhaseStyle{"?", Yellow, "khaki"}
	case v1alpha1.NodeDeleting:
		return PhaseStyle{"−", Yellow, "khaki"}
	case v1alpha1.NodeGone:
		return PhaseStyle{"−", Dim, "lightgrey"}
	case v1alpha1.NodeBlocked:
		return PhaseStyle{"·", Dim, "lightgrey"}
	case v1alpha1.NodePending:
	}
	return PhaseStyle{"·", Dim, "khaki"}
}
