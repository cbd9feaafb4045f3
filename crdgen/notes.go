package crdgen

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/schema/shape"
)

// noteList collects notes and drops duplicates. The zero value is an empty list.
// seen is made on first use.
type noteList struct {
	list problem.List
	seen map[problem.Problem]bool
}

// add adds the note that something is not enforced by the CRD.
func (n *noteList) add(at problem.Position, path, format string, args ...any) {
	n.put(shape.Unenforced(at, path, fmt.Sprintf(format, args...)))
}

// put adds notes.
func (n *noteList) put(notes ...problem.Problem) {
	for _, note := range notes {
		if n.seen[note] {
			continue
		}
		if n.seen == nil {
			n.seen = map[problem.Problem]bool{}
		}
		n.seen[note] = true
		n.list = append(n.list, note)
	}
}

// sorted sorts the notes by position, then by path.
func (n *noteList) sorted() problem.List {
	slices.SortStableFunc(n.list, func(a, b problem.Problem) int {
		return cmp.Or(a.Position.Compare(b.Position), strings.Compare(a.Path, b.Path))
	})
	return n.list
}

// problemAt returns an error about one mistake in a module. It is a list with one
// problem, so that callers handle all errors in modules alike.
func problemAt(at problem.Position, path, format string, args ...any) error {
	return problem.List{{Position: at, Path: path, Message: fmt.Sprintf(format, args...), Rule: problem.RuleModule}}
}
