// Package style has the colors of the commands and the parts from which they
// draw trees and tables: [Painter] colors text, [Line] is a line of colored spans
// that can be cut to the width of a terminal, and [WriteBranches] draws one level
// of a tree.
//
// The package decides neither whether output is colored nor what a color means.
// It expects text that is safe to print; internal/source has the function that
// makes it so.
package style

// Style is an ANSI escape sequence that sets a color or weight. Styles can be
// concatenated: Bold+Red. The zero value, Plain, changes nothing.
type Style string

// The styles. All terminals have these colors, and users choose their shades.
const (
	Plain  Style = ""
	Bold   Style = "\x1b[1m"
	Dim    Style = "\x1b[2m"
	Red    Style = "\x1b[31m"
	Green  Style = "\x1b[32m"
	Yellow Style = "\x1b[33m"
	Blue   Style = "\x1b[34m"

	reset = "\x1b[0m"
)

// Painter colors text. The zero value returns text as it is.
type Painter struct{ Color bool }

// Paint returns text in a style, followed by a reset. Empty text and the style
// Plain yield the text alone.
func (p Painter) Paint(s Style, text string) string {
	if !p.Color || s == Plain || text == "" {
		return text
	}
	return string(s) + text + reset
}
