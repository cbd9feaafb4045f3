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
	"go.yaml.in/yaml/v3"

	"github.com/pequod-io/pequod/internal/source"
)

// longest is the length, in characters, past which only the part of a line that
// differs is shown.
const longest = 160

// shown gives both values of a change on one line each.
func (c Change) shown() (before, after string) {
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

// lines gives the differences of texts of several lines as a small diff, nil for
// other values.
func (c Change) lines() []string {
	x, ok := c.old.(string)
	y, ok2 := c.new.(string)
	if !ok || !ok2 || !strings.Contains(x, "\n") && !strings.Contains(y, "\n") {
		return nil
	}
	out := string(diff.Diff("old", []byte(x), "new", []byte(y)))
	all := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if len(all) < 4 {
		return nil
	}
	var lines []string
	for _, line := range all[3:] { // after the names
		lines = append(lines, source.Escape(line, "\t"))
	}
	return lines
}

// excerpt cuts what two long texts have in common at both ends.
func excerpt(a, b string) (string, string) {
	x, y := []rune(a), []rune(b)
	if len(x) <= longest && len(y) <= longest {
		return a, b
	}
	const around = 30
	head := 0
	for head < len(x) && head < len(y) && x[head] == y[head] {
		head++
	}
	tail := 0
	for tail < len(x)-head && tail < len(y)-head && x[len(x)-1-tail] == y[len(y)-1-tail] {
		tail++
	}
	from, back := max(head-around, 0), max(tail-around, 0)
	cut := func(r []rune) string {
		s := r[from : len(r)-back]
		text := string(s)
		if len(s) > 2*longest {
			text = string(s[:longest]) + "…" + string(s[len(s)-longest:])
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

var plainText = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[^\s"'(\[{*~][^"]*$`)
})

// inline shows a value on one line. A text stands without quotes unless it could
// be taken for something else.
func inline(v any) string {
	switch v := v.(type) {
	case string:
		if looksPlain(v) {
			return v
		}
		return quote(v)
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
	if err := e.Encode(plain(v)); err != nil {
		return fmt.Sprintf("(%T)", v)
	}
	return source.Escape(strings.TrimSpace(b.String()), "\t")
}

func looksPlain(s string) bool {
	if !plainText().MatchString(s) || strings.TrimSpace(s) != s || strings.Contains(s, "→") || source.Escape(s, "\t") != s {
		return false
	}
	switch strings.ToLower(s) {
	case "true", "false", "null", "yes", "no", "on", "off":
		return false
	}
	_, err := strconv.ParseFloat(s, 64)
	return err != nil
}

func quote(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return strconv.Quote(s)
	}
	return source.Escape(strings.TrimSpace(b.String()), "\t")
}

// block writes a value as lines of YAML.
func block(v any) []string {
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	e.CompactSeqIndent()
	if err := e.Encode(plain(v)); err != nil {
		return []string{inline(v)}
	}
	lines := strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
	for i := range lines {
		lines[i] = source.Escape(lines[i], "\t")
	}
	return lines
}

// plain replaces what has no YAML or JSON of its own by what is shown of it.
func plain(v any) any {
	switch v := v.(type) {
	case secret:
		return mask
	case late:
		return v.String()
	case map[string]any:
		m := make(map[string]any, len(v))
		for k, item := range v {
			m[k] = plain(item)
		}
		return m
	case []any:
		l := make([]any, len(v))
		for i, item := range v {
			l[i] = plain(item)
		}
		return l
	}
	return v
}
