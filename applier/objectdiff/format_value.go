package objectdiff

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/internal/source/yamlout"
)

// maxInlineText is the length, in characters, above which only the part of a string
// that differs is printed.
const maxInlineText = 160

// inline returns both values of a change, each on one line. Values that look the same,
// such as secrets, are marked.
func (c Change) inline() (before, after string) {
	x, isText := c.old.(string)
	y, isText2 := c.new.(string)
	if isText && isText2 {
		x, y = excerpt(x, y)
		return inline(x), inline(y)
	}
	before, after = inline(c.old), inline(c.new)
	if before == after {
		before, after = before+" (before)", after+" (after)"
	}
	return before, after
}

// textDiff returns the differences of two multi-line strings as the lines of a
// unified diff, or nil for other values. One of the strings may have a single
// line. The lines are escaped, so that a value cannot send control sequences to
// the terminal.
func (c Change) textDiff() []string {
	x, ok := c.old.(string)
	y, ok2 := c.new.(string)
	if !ok || !ok2 || !strings.Contains(x, "\n") && !strings.Contains(y, "\n") {
		return nil
	}
	out := string(diff.Diff("old", []byte(x), "new", []byte(y)))
	all := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	// Without a line after the header there is nothing to show; the caller then
	// prints both values.
	if len(all) < 4 {
		return nil
	}
	var lines []string
	for _, line := range all[3:] { // the first lines name the files
		lines = append(lines, source.Escape(line, "\t"))
	}
	return lines
}

// excerpt shortens two long strings to the part that differs, with some
// characters around it. Short strings are returned as they are. Both results lack
// the same number of characters at each end, so they can be compared. If the part
// that differs is still long, its middle is left out too.
func excerpt(a, b string) (string, string) {
	x, y := []rune(a), []rune(b)
	if len(x) <= maxInlineText && len(y) <= maxInlineText {
		return a, b
	}
	const around = 30 // characters of context on both sides
	head := 0
	for head < len(x) && head < len(y) && x[head] == y[head] {
		head++
	}
	tail := 0
	for tail < len(x)-head && tail < len(y)-head && x[len(x)-1-tail] == y[len(y)-1-tail] {
		tail++
	}
	// from and back are the lengths to remove at the start and at the end.
	from, back := max(head-around, 0), max(tail-around, 0)
	cut := func(r []rune) string {
		s := r[from : len(r)-back]
		text := string(s)
		if len(s) > 2*maxInlineText {
			text = string(s[:maxInlineText]) + "…" + string(s[len(s)-maxInlineText:])
		}
		if from > 0 {
			text = "…" + text
		}
		if back > 0 {
			text += "…"
		}
		return text
	}
	return cut(x), cut(y)
}

// plainText matches strings that do not begin like a quoted string, a list, a map or a
// sign of the output.
var plainText = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[^\s"'(\[{*~][^"]*$`)
})

// inline returns a value on one line. Strings are quoted only if they could be
// mistaken for another value. Quoted strings, maps and lists are JSON.
func inline(v any) string {
	switch v := v.(type) {
	case string:
		if looksPlain(v) {
			return v
		}
	case secret:
		return mask
	case late:
		return source.Escape(v.String(), "\t")
	case nil:
		return "null"
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Sprintf("(%T)", v)
	}
	return source.Escape(strings.TrimSpace(b.String()), "\t")
}

// looksPlain reports whether a string needs no quotes. It needs them if it looks
// like a number, a boolean, null, a list or a map, if it contains control
// characters, a double quote or the arrow of the output, or if it begins or ends
// with a space.
func looksPlain(s string) bool {
	if !plainText().MatchString(s) || strings.TrimSpace(s) != s || strings.Contains(s, "→") || source.Escape(s, "\t") != s {
		return false
	}
	switch strings.ToLower(s) { // YAML 1.1 reads these as other types
	case "true", "false", "null", "yes", "no", "on", "off":
		return false
	}
	_, err := strconv.ParseFloat(s, 64)
	return err != nil
}

// block returns a value as lines of YAML, safe to print. A value that YAML cannot
// encode is returned as one line.
func block(v any) []string {
	out, err := yamlout.Encode(v)
	if err != nil {
		return []string{inline(v)}
	}
	lines := strings.Split(strings.TrimRight(string(out), "\n"), "\n")
	for i := range lines {
		lines[i] = source.Escape(lines[i], "\t")
	}
	return lines
}
