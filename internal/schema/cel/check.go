package cel

import (
	"strconv"

	"github.com/pequod-io/pequod/internal/schema/shape"
)

// holdsCheck returns the predicate that v, which the schema declares as declared,
// passes the check. A check counts shapes, and a value that is not in one of them
// may count for another, so every shape needs an exact predicate; otherwise the
// result is [Unknown]. A check comes from matchN or matchIf in CUE. For
// matchN(1, [A, B]) it returns
//
//	[A(v), B(v)].filter(x, x).size() == 1
//
// and for matchIf(A, B, C) it returns A(v) ? B(v) : C(v).
func holdsCheck(c shape.Check, declared shape.Shape, v string) Predicate {
	var all []Predicate
	for _, s := range c.Shapes {
		p := Holds(s, declared, v)
		if !p.Exact || p.fallible {
			return Unknown()
		}
		// The shape demands nothing that the schema doesn't, so every value is in
		// it.
		if p.Text == "" {
			p.Text = "true"
		}
		all = append(all, p)
	}
	if c.Branch {
		return Predicate{Text: Wrap(all[0].Text) + " ? " + Wrap(all[1].Text) + " : " + Wrap(all[2].Text), Exact: true}
	}
	texts := ""
	for i, p := range all {
		if i > 0 {
			texts += ", "
		}
		texts += p.Text
	}
	// The name must not occur in any of the predicates.
	x := Variable(texts + v)
	size := "[" + texts + "].filter(" + x + ", " + x + ").size()"
	return holdsNumber(shape.Term{Kind: shape.IntKind, Numbers: c.Count}, false, size)
}

// Itoa writes an integer in decimal.
func Itoa(n int64) string { return strconv.FormatInt(n, 10) }
