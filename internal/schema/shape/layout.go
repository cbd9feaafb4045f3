package shape

import (
	"strconv"
	"strings"
	"time"
)

// DateOnly is the one layout whose valid days and months CEL can check.
const DateOnly = time.DateOnly

// LayoutFormat returns the format time.Format(layout). It reports false for
// layouts without a pattern.
func LayoutFormat(layout string) (Format, bool) {
	f := Format("time.Format(" + strconv.Quote(layout) + ")")
	return f, layoutPattern(layout) != ""
}

// Layout returns the layout of a format that [LayoutFormat] made.
func (f Format) Layout() (string, bool) {
	quoted, ok := strings.CutPrefix(strings.TrimSuffix(string(f), ")"), "time.Format(")
	if !ok {
		return "", false
	}
	layout, err := strconv.Unquote(quoted)
	return layout, err == nil && layoutPattern(layout) != ""
}

// layoutPattern returns a regular expression that matches every string that Go
// parses with the layout, and some more. It is empty for layouts with parts
// other than the usual numbers, such as names of months.
func layoutPattern(layout string) string {
	parts := []struct{ text, pattern string }{
		{"2006", "[0-9]{4}"}, {"01", "[0-9]{2}"}, {"02", "[0-9]{2}"}, {"15", "[0-9]{1,2}"}, {"04", "[0-9]{2}"},
		// Go accepts a fraction of a second even if the layout has none.
		{"05", "[0-9]{2}([.,][0-9]+)?"},
		{"-", "-"}, {":", ":"}, {"/", "/"}, {"T", "T"},
	}
	out := "^"
next:
	for layout != "" {
		for _, p := range parts {
			if rest, ok := strings.CutPrefix(layout, p.text); ok {
				layout, out = rest, out+p.pattern
				continue next
			}
		}
		return ""
	}
	return out + "$"
}
