package progress

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"

	"github.com/pequod-io/pequod/internal/source"
)

// The escape sequences of the colours.
const (
	bold   = "\x1b[1m"
	dim    = "\x1b[2m"
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	blue   = "\x1b[34m"
	reset  = "\x1b[0m"
)

// painter colours text, or doesn't.
type painter struct{ color bool }

func (p painter) paint(style, text string) string {
	if !p.color || style == "" || text == "" {
		return text
	}
	return style + text + reset
}

// span is text in one style.
type span struct{ style, text string }

// line is a line of a terminal.
type line []span

// columns is how many columns of a terminal text takes.
func columns(text string) int {
	n := 0
	for _, r := range text {
		n += runeColumns(r)
	}
	return n
}

func runeColumns(r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

func (l line) columns() int {
	n := 0
	for _, s := range l {
		n += columns(s.text)
	}
	return n
}

// cut gives the line with at most so many columns; what is cut ends in "…".
func (l line) cut(most int) line {
	if l.columns() <= most {
		return l
	}
	var short line
	room := most - 1
	for _, s := range l {
		if n := columns(s.text); n <= room {
			short = append(short, s)
			room -= n
			continue
		}
		var text strings.Builder
		for _, r := range s.text {
			if room -= runeColumns(r); room < 0 {
				break
			}
			text.WriteRune(r)
		}
		return append(short, span{s.style, strings.TrimRight(text.String(), " ") + "…"})
	}
	return short
}

func (l line) render(p painter) string {
	var b strings.Builder
	for _, s := range l {
		b.WriteString(p.paint(s.style, s.text))
	}
	return strings.TrimRight(b.String(), " ")
}

// pad fills text up to so many columns.
func pad(text string, to int) string {
	return text + strings.Repeat(" ", max(0, to-columns(text)))
}

func oneLine(s string) string { return source.Escape(strings.ReplaceAll(s, "\n", " "), "") }
