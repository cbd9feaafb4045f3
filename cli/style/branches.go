package style

import "strings"

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
