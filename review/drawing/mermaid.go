package drawing

import (
	"strings"

	"github.com/pequod-io/pequod/api/graph"
)

// MermaidLabel returns the lines of a box as one quoted string of Mermaid, whose syntax is
// that of https://mermaid.js.org/syntax/flowchart.html. Mermaid escapes characters as entities
// that begin with #, not with backslashes, and reads HTML and a leading backtick as markup.
func MermaidLabel(lines ...string) string {
	escape := strings.NewReplacer(
		"#", "#35;", `"`, "#quot;", "<", "#lt;", ">", "#gt;", "&", "#amp;", "`", "#96;", "\n", " ", "\r", " ",
	)
	escaped := make([]string, len(lines))
	for i, line := range lines {
		escaped[i] = escape.Replace(line)
	}
	return `"` + strings.Join(escaped, "<br/>") + `"`
}

// MermaidArrow returns the arrow of an edge: solid if the graph lists the dependency, solid
// with the label $from for a reference in a value, and dotted for a dependency that pequod
// adds.
func MermaidArrow(kind graph.EdgeKind) string {
	switch kind {
	case graph.Reference:
		return `-->|"$from"|`
	case graph.Implied:
		return "-.->"
	}
	return "-->"
}
