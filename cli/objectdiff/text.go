package objectdiff

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/pequod-io/pequod/internal/source"
)

// The escape sequences of the colours that the text format uses.
const (
	green  = "\x1b[32m"
	red    = "\x1b[31m"
	yellow = "\x1b[33m"
	bold   = "\x1b[1m"
	reset  = "\x1b[0m"
)

// line is a line of a report: what happens (+, -, ~, ! or a space) and a text
// without it.
type line struct {
	sign   byte
	indent int
	text   string
}

// signOf is how every format marks an action.
func signOf(a Action) byte {
	switch a {
	case Add:
		return '+'
	case Remove:
		return '-'
	}
	return '~'
}

// WriteText prints a diff: a paragraph for each object, then the warnings, and in
// the last line how many objects are added, changed and removed.
func WriteText(w io.Writer, d Diff, color bool) error {
	if err := WriteChanges(w, d, color); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, d.Plan())
	return err
}

// WriteChanges prints a diff as [WriteText] does, without the last line.
func WriteChanges(w io.Writer, d Diff, color bool) error {
	b := bufio.NewWriter(w)
	d.writeObjects(b, "", color)
	d.writeWarnings(b, "", color)
	return b.Flush()
}

func (p Plan) String() string {
	text := fmt.Sprintf("Plan: %d to add, %d to change, %d to remove", p.Add, p.Change, p.Remove)
	if p.Refused > 0 {
		text += fmt.Sprintf(", %d refused", p.Refused)
	}
	return text
}

func (d Diff) writeObjects(b *bufio.Writer, prefix string, color bool) {
	for i := range d.Objects {
		o := &d.Objects[i]
		head := line{sign: signOf(o.Action), text: source.Escape(o.String(), "\t") + o.within()}
		fmt.Fprintln(b, prefix+head.paint(color, bold))
		for _, l := range o.lines() {
			fmt.Fprintln(b, prefix+l.paint(color, ""))
		}
		fmt.Fprintln(b)
	}
}

func (d Diff) writeWarnings(b *bufio.Writer, prefix string, color bool) {
	n := 0
	for i := range d.Objects {
		for _, w := range d.Objects[i].Warnings {
			l := line{sign: '!', text: source.Escape(d.Objects[i].Key.String()+": "+warningText(w), "\t")}
			fmt.Fprintln(b, prefix+l.paint(color, ""))
			n++
		}
	}
	if n > 0 {
		fmt.Fprintln(b)
	}
}

// within names the graph that an object belongs to.
func (o *ObjectDiff) within() string {
	at := o.new
	if at == nil {
		at = o.old
	}
	text := ""
	if at.graph != "" {
		text = "  (graph " + source.Escape(at.graph, "\t") + ")"
	}
	if o.Replaced {
		text += ", deleted and made anew"
	}
	return text
}

func (l line) paint(color bool, style string) string {
	text := fmt.Sprintf("%c %*s%s", l.sign, l.indent, "", l.text)
	if l.text == "" {
		text = text[:1]
	}
	code := map[byte]string{'+': green, '-': red, '~': yellow, '!': yellow}[l.sign]
	if !color || code+style == "" {
		return text
	}
	return style + code + text + reset
}

// lines are the body of an object's paragraph: an added object as it is, and of a
// changed one a line for each field.
func (o *ObjectDiff) lines() []line {
	if o.Action == Add {
		var lines []line
		for _, text := range block(o.new.body) {
			lines = append(lines, line{'+', 4, text})
		}
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
		lines = append(lines, c.report()...)
	}
	return lines
}

// report is what is said of one field, with who changed it.
func (c Change) report() []line {
	lines := c.difference()
	switch c.By {
	case "":
	case somebody:
		lines[0].text += "  (removed by others)"
	default:
		lines[0].text += "  (set by " + source.Escape(c.By, "\t") + ")"
	}
	return lines
}

func (c Change) difference() []line {
	path := c.Path.String()
	if diff := c.lines(); diff != nil {
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
		return value(signOf(c.Action), path, v)
	case Reorder:
		return []line{{'~', 2, path + ": order " + names(c.old) + " → " + names(c.new)}}
	}
	before, after := c.shown()
	return []line{{'~', 2, path + ": " + before + " → " + after}}
}

// shortList is how long a list of lone values may be to stand on one line.
const shortList = 60

func short(list []any) bool {
	for _, v := range list {
		switch v.(type) {
		case map[string]any, []any:
			return false
		}
	}
	return true
}

// names shows the members of a list in their order.
func names(list any) string {
	members, _ := list.([]any)
	texts := make([]string, len(members))
	for i, m := range members {
		texts[i] = inline(m)
	}
	return strings.Join(texts, ", ")
}

// value shows a lone value beside its path, and a tree below it.
func value(sign byte, path string, v any) []line {
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 {
			return []line{{sign, 2, path + ": {}"}}
		}
	case []any:
		if text := inline(v); short(v) && len(text) <= shortList {
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
