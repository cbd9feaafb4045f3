package cel

import (
	"strconv"
	"strings"

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
	var texts []string
	for _, s := range c.Shapes {
		p := Holds(s, declared, v)
		if !p.Exact || p.fallible {
			return Unknown()
		}
		// A shape that demands nothing beyond the schema holds every value.
		texts = append(texts, p.orTrue())
	}
	if c.Branch {
		return Predicate{Text: Wrap(texts[0]) + " ? " + Wrap(texts[1]) + " : " + Wrap(texts[2]), Exact: true}
	}
	return holdsNumber(shape.Term{Kind: shape.IntKind, Numbers: c.Count}, false, countTrue(texts, Variable(strings.Join(texts, " ")+v)))
}

// Itoa writes an integer in decimal.
func Itoa(n int64) string { return strconv.FormatInt(n, 10) }
