package style

import (
	"strings"

	"github.com/pequod-io/pequod/internal/source"
)

// WriteBranches writes a title and the rows below it as branches of a tree:
//
//	wave 1
//	├── config
//	└── service
func WriteBranches(b *strings.Builder, title string, rows []string) {
	b.WriteString(title + "\n")
	for i, row := range rows {
		branch := "├── "
		if i == len(rows)-1 {
			branch = "└── "
		}
		b.WriteString(branch + row + "\n")
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
