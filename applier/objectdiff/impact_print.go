package objectdiff

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/pequod-io/pequod/internal/source"
)

// maxInstances is the largest number of instances of a group that text and Markdown
// list. JSON lists all.
const maxInstances = 10

// title describes a group: how many instances change, and how many of their
// objects. For example: "3 instances of WebService change alike: 0 to add, 1 to
// change, 0 to remove in each".
func (g Group) title() string {
	p := g.Diff.Plan()
	n := len(g.Instances)
	verb, each := "change alike", " in each"
	switch {
	case g.ValuesDiffer:
		verb = "change in the same fields"
	case n == 1:
		verb, each = "changes", ""
	}
	return fmt.Sprintf("%s of %s %s: %d to add, %d to change, %d to remove%s",
		source.Count(n, "instance"), g.Instances[0].Kind, verb, p.Add, p.Change, p.Remove, each)
}

// listed returns the names of the instances, shortened if there are many. The
// last line then has their number, unless it would stand for a single instance.
func (g Group) listed() []string {
	var lines []string
	for i, in := range g.Instances {
		if i == maxInstances && len(g.Instances) > maxInstances+1 {
			return append(lines, fmt.Sprintf("… %d more", len(g.Instances)-i))
		}
		lines = append(lines, source.Escape(in.String(), "\t"))
	}
	return lines
}

// note names the instance whose changes are shown. It returns "" for a single
// instance.
func (g Group) note() string {
	shown := "The changes"
	switch {
	case g.ValuesDiffer:
		shown = "The values differ between instances; those"
	case len(g.Instances) == 1:
		return ""
	}
	return shown + " of " + source.Escape(g.Instances[0].String(), "\t") + " are shown."
}

// WriteText prints every group: its instances, and then the changes of each of them.
func (m *Impact) WriteText(w io.Writer, paint Paint) error {
	b := bufio.NewWriter(w)
	for _, g := range m.Groups() {
		title := source.Escape(g.title(), "\t")
		fmt.Fprintln(b, paint.line(0, true, title))
		for _, in := range g.listed() {
			fmt.Fprintln(b, "  "+in)
		}
		if note := g.note(); note != "" {
			fmt.Fprintln(b, "  "+note)
		}
		fmt.Fprintln(b)
		g.Diff.writeObjects(b, "  ", paint)
		g.Diff.writeWarnings(b, "  ", paint)
	}
	return b.Flush()
}

// Markdown writes every group for a comment. cut.Objects limits both the number of
// groups and the number of objects of each; a sentence counts the rest.
func (m *Impact) Markdown(b *strings.Builder, cut Cut) {
	for i, g := range m.Groups() {
		if i >= cut.Objects {
			fmt.Fprintf(b, "\n_Too long for a comment: %s left out._\n", source.Count(len(m.Groups())-i, "group"))
			return
		}
		fmt.Fprintf(b, "\n### %s\n\n", escape(g.title()))
		fmt.Fprintf(b, "<details><summary>%s</summary>\n\n", source.Count(len(g.Instances), "instance"))
		for _, in := range g.listed() {
			fmt.Fprintf(b, "- %s\n", code(in))
		}
		b.WriteString("\n</details>\n")
		if note := g.note(); note != "" {
			fmt.Fprintf(b, "\n%s\n", escape(note))
		}
		if left := g.Diff.MarkdownObjects(b, cut, "####"); left != "" {
			fmt.Fprintf(b, "%s\n", left)
		}
	}
}

// GroupReport is the JSON form of a group. The fields of its Report are on the
// same level as instances.
type GroupReport struct {
	Instances []Instance `json:"instances"`
	// ValuesDiffer is set if the same fields change to different values in each
	// instance.
	ValuesDiffer bool `json:"valuesDiffer,omitempty"`
	// Report has the changes of the first instance.
	Report
}

// Report returns the JSON form of the groups, never nil.
func (m *Impact) Report() []GroupReport {
	all := []GroupReport{}
	for _, g := range m.Groups() {
		all = append(all, GroupReport{g.Instances, g.ValuesDiffer, g.Diff.Report()})
	}
	return all
}
