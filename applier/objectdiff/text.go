package objectdiff

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/pequod-io/pequod/internal/source"
)

// line is a line of text or Markdown output: a sign (+, -, ~, ! or a space) that marks
// the action, and the text after it.
type line struct {
	sign   byte
	indent int
	text   string
}

// signOf returns the sign of an action. Changes and new orders share a sign.
func signOf(a Action) byte {
	switch a {
	case Add:
		return '+'
	case Remove:
		return '-'
	}
	return '~'
}

// WriteText prints a diff: a paragraph for each object, the warnings, and a last line
// with the plan:
//
//	~ Deployment default/web  (graph default/web)
//	~   spec.replicas: 2 → 3
//
//	! Service default/web: spec.selector: no longer matches any Pods; it matched those of Deployment default/web
//
//	Plan: 0 to add, 1 to change, 0 to remove
//
// It returns the first error of w.
func WriteText(w io.Writer, d Diff, paint Paint) error {
	if err := WriteChanges(w, d, paint); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, d.Plan())
	return err
}

// WriteChanges prints a diff like [WriteText], but without the last line.
func WriteChanges(w io.Writer, d Diff, paint Paint) error {
	b := bufio.NewWriter(w)
	d.writeObjects(b, "", paint)
	d.writeWarnings(b, "", paint)
	return b.Flush()
}

// String returns the plan as one line: "Plan: 1 to add, 0 to change, 2 to remove".
func (p Plan) String() string {
	text := fmt.Sprintf("Plan: %d to add, %d to change, %d to remove", p.Add, p.Change, p.Remove)
	if p.Refused > 0 {
		text += fmt.Sprintf(", %d refused", p.Refused)
	}
	return text
}

// writeObjects prints the objects, each line after prefix.
func (d Diff) writeObjects(b *bufio.Writer, prefix string, paint Paint) {
	for i := range d.Objects {
		o := &d.Objects[i]
		head := line{sign: signOf(o.Action), text: source.Escape(o.String(), "\t") + o.suffix()}
		fmt.Fprintln(b, prefix+head.paint(paint, true))
		for _, l := range o.lines() {
			fmt.Fprintln(b, prefix+l.paint(paint, false))
		}
		fmt.Fprintln(b)
	}
}

// writeWarnings prints the warnings of all objects, each line after prefix.
func (d Diff) writeWarnings(b *bufio.Writer, prefix string, paint Paint) {
	n := 0
	for i := range d.Objects {
		for _, w := range d.Objects[i].Warnings {
			l := line{sign: '!', text: source.Escape(d.Objects[i].Key.String()+": "+warningText(w), "\t")}
			fmt.Fprintln(b, prefix+l.paint(paint, false))
			n++
		}
	}
	if n > 0 {
		fmt.Fprintln(b)
	}
}

// suffix returns the end of the first line of an object: its graph, and whether it is
// recreated.
func (o *ObjectDiff) suffix() string {
	text := ""
	if graph := o.object().graph; graph != "" {
		text = "  (graph " + source.Escape(graph, "\t") + ")"
	}
	if o.Recreated {
		text += ", deleted and recreated"
	}
	return text
}

// Paint colors a line of a report by its sign: '+', '-', '~', '!', or 0 for a title. bold is
// set for the first line of an object and for titles. A nil Paint colors nothing.
type Paint func(sign byte, bold bool, text string) string

// line returns a line in color.
func (p Paint) line(sign byte, bold bool, text string) string {
	if p == nil {
		return text
	}
	return p(sign, bold, text)
}

// paint returns the line with the color of its sign.
func (l line) paint(p Paint, bold bool) string {
	text := fmt.Sprintf("%c %*s%s", l.sign, l.indent, "", l.text)
	if l.text == "" { // no trailing spaces
		text = text[:1]
	}
	return p.line(l.sign, bold, text)
}

// lines returns the body of an object's paragraph: an added object as YAML, and
// the changed fields of others. A removed object has no lines.
func (o *ObjectDiff) lines() []line {
	if o.Action == Add {
		var lines []line
		for _, text := range block(o.new.body) {
			lines = append(lines, line{'+', 4, text})
		}
		// Of the settings of a new node, only those that were chosen for it.
		for _, k := range []string{"dependencies", "readyWhen", "applyPolicy"} {
			if v, ok := o.new.node[k]; ok {
				for _, text := range block(map[string]any{nodePath + "." + k: v}) {
					lines = append(lines, line{'+', 4, text})
				}
			}
		}
		return lines
	}
	var lines []line
	for _, c := range o.Changes {
		lines = append(lines, c.attributed()...)
	}
	return lines
}

// attributed returns the lines of one field, with the manager that changed it.
// The first line gets the manager, as in:
//
//	~   spec.replicas: 5 → 3  (set by kubectl-scale)
func (c Change) attributed() []line {
	lines := c.changeLines()
	switch c.By {
	case "":
	case others:
		lines[0].text += "  (removed by others)"
	default:
		lines[0].text += "  (set by " + source.Escape(c.By, "\t") + ")"
	}
	return lines
}

// changeLines returns the lines of one field: a small diff for multi-line strings, and
// one line or a block for other values.
func (c Change) changeLines() []line {
	path := c.Path.String()
	if diff := c.textDiff(); diff != nil {
		lines := []line{{'~', 2, path + ":"}}
		for _, text := range diff {
			sign := text[0]
			switch sign {
			case '+', '-':
				text = text[1:]
			default:
				sign = ' '
			}
			lines = append(lines, line{sign, 6, text})
		}
		return lines
	}
	switch c.Action {
	case Add, Remove:
		v := c.new
		if c.Action == Remove {
			v = c.old
		}
		return valueLines(signOf(c.Action), path, v)
	case Reorder:
		return []line{{'~', 2, path + ": order " + memberNames(c.old) + " → " + memberNames(c.new)}}
	}
	before, after := c.inline()
	return []line{{'~', 2, path + ": " + before + " → " + after}}
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
func valueLines(sign byte, path string, v any) []line {
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 {
			return []line{{sign, 2, path + ": {}"}}
		}
	case []any:
		if text := inline(v); isScalarList(v) && len(text) <= maxInlineList {
			return []line{{sign, 2, path + ": " + text}}
		}
	case string:
		if !strings.Contains(v, "\n") {
			return []line{{sign, 2, path + ": " + inline(v)}}
		}
	default:
		return []line{{sign, 2, path + ": " + inline(v)}}
	}
	lines := []line{{sign, 2, path + ":"}}
	for _, text := range block(v) {
		lines = append(lines, line{sign, 6, text})
	}
	return lines
}
