package style

import (
	"fmt"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	"charm.land/lipgloss/v2/tree"

	"github.com/pequod-io/pequod/internal/source"
)

// BranchWidth is the width of what stands before a row of a tree.
const BranchWidth = 4

// WriteBranches writes a title and the rows below it as branches of a tree:
//
//	wave 1
//	├── config
//	└── service
//
// Rows may have several lines. Lines that are wider than width are wrapped; 0 means
// no limit.
func WriteBranches(b *strings.Builder, title string, rows []string, width int) {
	t := tree.Root(title)
	for _, row := range rows {
		if width > 0 {
			row = lipgloss.Wrap(row, width-BranchWidth, "")
		}
		t.Child(row)
	}
	writeTrimmed(b, t.String())
}

// mostListed is the largest number of dependencies in a row. A graph of 2,000 nodes may have
// a million.
const mostListed = 50

// First returns a list for a row: at most 50 items, and a last one that counts the others.
func First(items []string) []string {
	if len(items) <= mostListed {
		return items
	}
	return append(slices.Clone(items[:mostListed]), fmt.Sprintf("and %d more", len(items)-mostListed))
}

// writeTrimmed writes lines without their trailing spaces. lipgloss pads blocks of
// text to rectangles.
func writeTrimmed(b *strings.Builder, text string) {
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
}

// DOTString returns the lines that are not empty as one quoted string of Graphviz,
// which breaks and centers lines at the escape sequence \n.
func DOTString(lines ...string) string {
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	var shown []string
	for _, line := range lines {
		if line != "" {
			shown = append(shown, escape.Replace(source.Escape(line, "")))
		}
	}
	return `"` + strings.Join(shown, `\n`) + `"`
}

// Object names an object of a graph: "Deployment/web", or "Secret/web in shop" if it is in another
// namespace than the graph.
func Object(kind, name, namespace, graphNamespace string) string {
	if namespace == "" || namespace == graphNamespace {
		return kind + "/" + name
	}
	return kind + "/" + name + " in " + namespace
}
