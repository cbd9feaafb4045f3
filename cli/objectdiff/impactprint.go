package objectdiff

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/pequod-io/pequod/internal/source"
)

// maxInstances is how many instances of a group are listed; JSON has them all.
const maxInstances = 10

// title is what a group is called: how many instances change, and how much.
func (g Group) title() string {
	p := g.Diff.Plan()
	n := len(g.Instances)
	verb, each := "change alike", " in each"
	switch {
	case g.Values:
		verb = "change in the same fields"
	case n == 1:
		verb, each = "changes", ""
	}
	return fmt.Sprintf("%s of %s %s: %d to add, %d to change, %d to remove%s",
		source.Count(n, "instance"), g.Instances[0].Kind, verb, p.Add, p.Change, p.Remove, each)
}

// listed names the instances of a group, cut where there are many.
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

func (g Group) note() string {
	if !g.Values {
		return ""
	}
	return "The values differ; these are those of " + source.Escape(g.Instances[0].String(), "\t") + "."
}

// WriteText prints every group: its instances, then what changes for each.
func (m *Impact) WriteText(w io.Writer, color bool) error {
	b := bufio.NewWriter(w)
	for _, g := range m.Groups() {
		title := source.Escape(g.title(), "\t")
		if color {
			title = bold + title + reset
		}
		fmt.Fprintln(b, title)
		for _, in := range g.listed() {
			fmt.Fprintln(b, "  "+in)
		}
		if note := g.note(); note != "" {
			fmt.Fprintln(b, "  "+note)
		}
		fmt.Fprintln(b)
		g.Diff.writeObjects(b, "  ", color)
		g.Diff.writeWarnings(b, "  ", color)
	}
	return b.Flush()
}

// Markdown writes every group as a comment shows it, and tells what was cut: as
// many objects of each group as are allowed, and as many groups.
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

// GroupReport is the JSON form of a group.
type GroupReport struct {
	Instances []Instance `json:"instances"`
	// ValuesDiffer says that the same fields change to other values in each
	// instance, and that the objects are those of the first.
	ValuesDiffer bool `json:"valuesDiffer,omitempty"`
	Report
}

// Report gives the JSON form of the groups.
func (m *Impact) Report() []GroupReport {
	all := []GroupReport{}
	for _, g := range m.Groups() {
		all = append(all, GroupReport{g.Instances, g.Values, g.Diff.Report()})
	}
	return all
}
