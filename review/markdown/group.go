package markdown

import (
	"fmt"
	"html"
	"strings"

	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/review"
)

// group writes the details of a group: its instances, and the objects of the first one.
func (b *writer) group(r *review.Report, number int, g review.Group) {
	fmt.Fprintf(b, "\n#### %s\n\n", escape(g.Title))
	if listed := r.Listed(g); len(listed) == 1 {
		fmt.Fprintf(b, "%s%s\n\n", code(listed[0].Place()), escape(listed[0].Where))
		if b.fields(listed[0].Fields, "") {
			b.WriteByte('\n')
		}
	} else {
		b.instances(listed)
	}
	if note := r.Note(g); note != "" {
		fmt.Fprintf(b, "%s\n\n", escape(note))
	}
	shown, together := r.Shown(g), r.Together(g)
	for i := range shown.Objects {
		b.object(&shown.Objects[i], together[i])
	}
}

// instances writes the folded list of the instances of a group.
func (b *writer) instances(listed []review.Listed) {
	fmt.Fprintf(b, "<details><summary>%s</summary>\n\n", source.Count(len(listed), "instance"))
	for k, in := range listed {
		if k >= b.cut.names {
			b.names += len(listed) - k
			fmt.Fprintf(b, "- … %d more\n", len(listed)-k)
			break
		}
		fmt.Fprintf(b, "- %s%s\n", code(in.Place()), escape(in.Where))
		if k == 0 {
			b.fields(in.Fields, "  ")
		}
	}
	b.WriteString("\n</details>\n\n")
}

// fields lists the changed fields of a document, and reports whether there are any.
func (b *writer) fields(all []review.Field, indent string) bool {
	for k, f := range all {
		if k >= b.cut.names {
			b.names += len(all) - k
			fmt.Fprintf(b, "%s- … %d more\n", indent, len(all)-k)
			break
		}
		fmt.Fprintf(b, "%s- %s\n", indent, code(f.String()))
	}
	return len(all) > 0
}

// object writes one object as a folded section, whose summary has the worst consequence.
func (b *writer) object(o *review.Object, consequences []review.Together) {
	summary := fmt.Sprintf("%c <code>%s</code>", o.Action.Sign(), inHTML(o.Key.String()))
	if o.Recreated {
		summary += ", deleted and recreated"
	}
	if n := len(o.Changes); n > 0 {
		summary += ", " + source.Count(n, "field")
	}
	if len(consequences) > 0 {
		summary += ": <b>" + inHTML(consequences[0].Title()) + "</b>"
	}
	lines := o.Lines()
	if len(lines)+len(consequences) == 0 {
		fmt.Fprintf(b, "<p>%s</p>\n\n", summary)
		return
	}
	fmt.Fprintf(b, "<details><summary>%s</summary>\n\n", summary)
	for _, c := range consequences {
		fmt.Fprintf(b, "- %s\n", escape(c.String()))
	}
	if len(consequences) > 0 {
		b.WriteByte('\n')
	}
	var body []string
	for i, l := range lines {
		if i >= b.cut.lines {
			b.lines += len(lines) - i
			body = append(body, "  … "+source.Count(len(lines)-i, "more line"))
			break
		}
		sign := l.Sign
		if sign == '~' {
			sign = '!' // GitHub's highlighting of diffs does not know ~
		}
		body = append(body, strings.TrimRight(fmt.Sprintf("%c %*s%s", sign, l.Indent, "", review.Clip(l.Text)), " "))
	}
	if len(body) > 0 {
		b.fence("diff", body)
	}
	b.WriteString("\n</details>\n\n")
}

// fence writes lines as a code block. Its fence is longer than any run of backticks in it.
func (b *writer) fence(language string, lines []string) {
	text := strings.Join(lines, "\n")
	fence := ticks(3, text)
	fmt.Fprintf(b, "%s%s\n%s\n%s\n", fence, language, text, fence)
}

// inHTML returns text for an HTML element in a comment.
func inHTML(s string) string {
	return strings.ReplaceAll(html.EscapeString(source.Escape(review.Clip(s), "")), "@", mention)
}
