package objectdiff

import (
	"strings"

	"github.com/pequod-io/pequod/internal/source"
)

// Line is a line of a report about an object.
type Line struct {
	// Sign is '+', '-' or '~' for the action, '!' for a warning, or a space.
	Sign byte
	// Indent is the number of spaces before the text.
	Indent int
	// Text has no control characters. Every skin escapes it for its own language.
	Text string
}

// Sign returns the sign of an action: '+', '-' or '~'. Changes and new orders share a sign.
func (a Action) Sign() byte {
	switch a {
	case Add:
		return '+'
	case Remove:
		return '-'
	}
	return '~'
}

// Lines returns the body of the report about an object: an added object as YAML, and the
// changed fields of others. A removed object has no lines.
func (o *ObjectDiff) Lines() []Line {
	if o.Action == Add {
		var lines []Line
		for _, text := range block(o.new.body) {
			lines = append(lines, Line{'+', 4, text})
		}
		// Of the settings of a new node, only those that were chosen for it.
		for _, k := range []string{"dependencies", "readyWhen", "applyPolicy"} {
			if v, ok := o.new.node[k]; ok {
				for _, text := range block(map[string]any{nodePath + "." + k: v}) {
					lines = append(lines, Line{'+', 4, text})
				}
			}
		}
		return lines
	}
	var lines []Line
	for _, c := range o.Changes {
		lines = append(lines, c.attributed()...)
	}
	return lines
}

// attributed returns the lines of one field, with the manager that changed it.
// The first line gets the manager, as in:
//
//	~   spec.replicas: 5 → 3  (set by kubectl-scale)
func (c Change) attributed() []Line {
	lines := c.changeLines()
	switch c.By {
	case "":
	case others:
		lines[0].Text += "  (removed by others)"
	default:
		lines[0].Text += "  (set by " + source.Escape(c.By, "\t") + ")"
	}
	return lines
}

// changeLines returns the lines of one field: a small diff for multi-line strings, and
// one line or a block for other values.
func (c Change) changeLines() []Line {
	path := c.Path.String()
	if diff := c.textDiff(); diff != nil {
		lines := []Line{{'~', 2, path + ":"}}
		for _, text := range diff {
			sign := text[0]
			switch sign {
			case '+', '-':
				text = text[1:]
			default:
				sign = ' '
			}
			lines = append(lines, Line{sign, 6, text})
		}
		return lines
	}
	switch c.Action {
	case Add, Remove:
		v := c.new
		if c.Action == Remove {
			v = c.old
		}
		return valueLines(c.Action.Sign(), path, v)
	case Reorder:
		return []Line{{'~', 2, path + ": order " + memberNames(c.old) + " → " + memberNames(c.new)}}
	}
	before, after := c.inline()
	return []Line{{'~', 2, path + ": " + before + " → " + after}}
}

// maxInlineList is the largest length, in bytes, of a list of scalars that is
// printed on one line. With a path before it, such a line usually fits a
// terminal.
const maxInlineList = 60

// isScalarList reports whether no member of a list is a map or a list.
func isScalarList(list []any) bool {
	for _, v := range list {
		switch v.(type) {
		case map[string]any, []any:
			return false
		}
	}
	return true
}

// memberNames returns the names of the members of a list in their order.
func memberNames(list any) string {
	members, _ := list.([]any)
	texts := make([]string, len(members))
	for i, m := range members {
		texts[i] = inline(m)
	}
	return strings.Join(texts, ", ")
}

// valueLines prints a value on the line of its path if it fits, and as an
// indented YAML block otherwise. Scalars and empty maps always fit. Maps, lists
// of maps and strings with several lines do not.
func valueLines(sign byte, path string, v any) []Line {
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 {
			return []Line{{sign, 2, path + ": {}"}}
		}
	case []any:
		if text := inline(v); isScalarList(v) && len(text) <= maxInlineList {
			return []Line{{sign, 2, path + ": " + text}}
		}
	case string:
		if !strings.Contains(v, "\n") {
			return []Line{{sign, 2, path + ": " + inline(v)}}
		}
	default:
		return []Line{{sign, 2, path + ": " + inline(v)}}
	}
	lines := []Line{{sign, 2, path + ":"}}
	for _, text := range block(v) {
		lines = append(lines, Line{sign, 6, text})
	}
	return lines
}
