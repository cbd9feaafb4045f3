package style

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// Span is text in one style.
type Span struct {
	Style Style
	Text  string
}

// Line is a line of output. Its text has no newlines.
type Line []Span

// Width returns the number of terminal columns that the line takes.
func (l Line) Width() int {
	n := 0
	for _, s := range l {
		n += Width(s.Text)
	}
	return n
}

// Cut returns the line shortened to at most limit columns. An ellipsis marks the
// end of a line that was shortened.
func (l Line) Cut(limit int) Line {
	if l.Width() <= limit {
		return l
	}
	var short Line
	room := limit - 1
	for _, s := range l {
		if n := Width(s.Text); n <= room {
			short = append(short, s)
			room -= n
			continue
		}
		var text strings.Builder
		for _, r := range s.Text {
			if room -= runeWidth(r); room < 0 {
				break
			}
			text.WriteRune(r)
		}
		return append(short, Span{s.Style, strings.TrimRight(text.String(), " ") + "…"})
	}
	return short
}

// Render returns the text of the line as p colors it, without trailing spaces.
func (l Line) Render(p Painter) string {
	var b strings.Builder
	for _, s := range l {
		b.WriteString(p.Paint(s.Style, s.Text))
	}
	return strings.TrimRight(b.String(), " ")
}

// Width returns the number of terminal columns that text takes.
func Width(text string) int {
	n := 0
	for _, r := range text {
		n += runeWidth(r)
	}
	return n
}

// runeWidth returns 0 for combining marks, 2 for wide East Asian characters and 1
// for everything else.
func runeWidth(r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// Pad appends spaces to text until it takes the given number of columns.
func Pad(text string, columns int) string {
	return text + strings.Repeat(" ", max(0, columns-Width(text)))
}
