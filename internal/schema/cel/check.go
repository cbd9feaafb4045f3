package cel

import (
	"strconv"

	"github.com/pequod-io/pequod/internal/schema/shape"
)

// holds is the predicate that v, declared as declared, passes the check. What
// isn't in one shape may count for another, so each must be told exactly.
func holdsCheck(c shape.Check, declared shape.Shape, v string) Predicate {
	var all []Predicate
	for _, s := range c.Shapes {
		p := Holds(s, declared, v)
		if !p.Exact || p.fallible {
			return Unknown()
		}
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
	x := Variable(texts + v)
	size := "[" + texts + "].filter(" + x + ", " + x + ").size()"
	return holdsNumber(shape.Term{Kind: shape.IntKind, Numbers: c.Count}, false, size)
}

// itoa writes a count.
func Itoa(n int64) string { return strconv.FormatInt(n, 10) }
