package html

import (
	"fmt"
	"html"
	"html/template"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/pequod-io/pequod/applier/objectdiff"
	"github.com/pequod-io/pequod/internal/source"
)

// The page leaves out what no reader reads. It says so where it does.
const (
	maxLines = 600  // lines of an object
	maxText  = 2000 // bytes of a line or a name
)

// cutText cuts a long text and adds how much is missing.
func cutText(s string) string {
	if len(s) <= maxText {
		return s
	}
	kept := strings.ToValidUTF8(s[:maxText], "") // a character may end after the limit
	return kept + fmt.Sprintf("… (%d more bytes)", len(s)-len(kept))
}

// fieldLines returns the changed fields of an object as the other skins show them.
func fieldLines(o *objectdiff.ObjectDiff) template.HTML {
	var lines []string
	for _, l := range o.Lines() {
		lines = append(lines, fmt.Sprintf("%c%*s%s", l.Sign, max(0, l.Indent-1), "", l.Text))
	}
	return markup(lines)
}

// objectLines returns the lines of an object before and after, without those that are far
// from a change. Values that only the list of fields tells apart, such as secrets, are
// equal here; without any difference the result is empty.
func objectLines(o *objectdiff.ObjectDiff) template.HTML {
	before, after := o.Old().YAML(), o.New().YAML()
	if o.Old() == nil || o.New() == nil {
		sign, all := "+", after
		if o.New() == nil {
			sign, all = "-", before
		}
		lines := make([]string, len(all))
		for i, text := range all {
			lines[i] = sign + text
		}
		return markup(lines)
	}
	out := string(diff.Diff("before", joined(before), "after", joined(after)))
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if len(lines) < 4 {
		return ""
	}
	lines = lines[3:] // the first lines name the files
	for i, text := range lines {
		if strings.HasPrefix(text, "@@") {
			lines[i] = "@"
		}
	}
	if lines[0] == "@" {
		lines = lines[1:]
	}
	return markup(lines)
}

func joined(lines []string) []byte { return []byte(strings.Join(lines, "\n") + "\n") }

// markup returns the content of an element pre. Each line begins with a sign: +, - or a
// space; lines that begin with @ are gaps. Runs of added lines are in ins elements and
// those of removed lines in del elements.
func markup(lines []string) template.HTML {
	var b strings.Builder
	rest := 0
	if len(lines) > maxLines {
		rest = len(lines) - maxLines
		lines = lines[:maxLines]
	}
	for i := 0; i < len(lines); {
		end := i + 1
		for end < len(lines) && sign(lines[end]) == sign(lines[i]) {
			end++
		}
		run := lines[i:end]
		switch sign(lines[i]) {
		case '-':
			added := end
			for added < len(lines) && sign(lines[added]) == '+' {
				added++
			}
			writeChanged(&b, run, lines[end:added])
			end = added
		case '+':
			writeChanged(&b, nil, run)
		case '@':
			b.WriteString("<i>⋯</i>\n")
		default:
			for _, l := range run {
				b.WriteString(escaped(l) + "\n")
			}
		}
		i = end
	}
	if rest > 0 {
		fmt.Fprintf(&b, "<i>%s left out</i>\n", source.Count(rest, "more line"))
	}
	return template.HTML(b.String())
}

func sign(line string) byte {
	if line == "" {
		return ' '
	}
	return line[0]
}

// writeChanged writes removed and added lines. If they are equally many, the parts of
// each pair that differ are marked.
func writeChanged(b *strings.Builder, removed, added []string) {
	paired := len(removed) == len(added)
	write := func(element string, lines, others []string) {
		if len(lines) == 0 {
			return
		}
		b.WriteString("<" + element + ">")
		for i, l := range lines {
			if paired {
				b.WriteString(marked(l, others[i]))
			} else {
				b.WriteString(escaped(l))
			}
			b.WriteByte('\n')
		}
		b.WriteString("</" + element + ">")
	}
	write("del", removed, added)
	write("ins", added, removed)
}

// marked escapes a line and marks the part in which it differs from another one, unless
// that is nearly everything.
func marked(line, other string) string {
	x, y := []rune(cutText(line)), []rune(cutText(other))
	first := 1 // after the sign
	for first < len(x) && first < len(y) && x[first] == y[first] {
		first++
	}
	last := 0
	for last < len(x)-first && last < len(y)-first && x[len(x)-1-last] == y[len(y)-1-last] {
		last++
	}
	if first+last < len(x)/3 || first+last == len(x) {
		return escaped(line)
	}
	end := len(x) - last
	return escaped(string(x[:first])) + "<b>" + escaped(string(x[first:end])) + "</b>" + escaped(string(x[end:]))
}

func escaped(line string) string { return html.EscapeString(source.Escape(cutText(line), "\t")) }
