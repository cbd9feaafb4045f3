package shape

import (
	"strconv"
	"strings"
	"time"
)

// dateOnly is a layout of which CEL knows all that CUE does.
const DateOnly = time.DateOnly

// layoutFormat is the format time.Format(layout).
func LayoutFormat(layout string) (Format, bool) {
	f := Format("time.Format(" + strconv.Quote(layout) + ")")
	return f, layoutPattern(layout) != ""
}

// layout is the layout of a format that has one with a pattern.
func (f Format) Layout() (string, bool) {
	quoted, ok := strings.CutPrefix(strings.TrimSuffix(string(f), ")"), "time.Format(")
	if !ok {
		return "", false
	}
	layout, err := strconv.Unquote(quoted)
	return layout, err == nil && layoutPattern(layout) != ""
}

// layoutPattern matches what Go parses by the layout, and some more. It is empty
// for layouts of other parts than the usual numbers.
func layoutPattern(layout string) string {
	parts := []struct{ text, pattern string }{
		{"2006", "[0-9]{4}"}, {"01", "[0-9]{2}"}, {"02", "[0-9]{2}"}, {"15", "[0-9]{1,2}"}, {"04", "[0-9]{2}"},
		// A fraction of a second may follow, though the layout has none.
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
