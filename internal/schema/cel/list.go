package cel

import (
	"slices"
	"strconv"

	"github.com/pequod-io/pequod/internal/schema/shape"
)

func HoldsList(l *shape.List, declared shape.ListEnvelope, v string) Predicate {
	return AllOf(ListDemands(l, declared, v)...)
}

// demands are the predicates that v is in l: one for each item of the prefix and
// for how many items there are, then those for all items, which cost more.
func ListDemands(l *shape.List, declared shape.ListEnvelope, v string) []Predicate {
	var all []Predicate
	count := func(n *int64, operator string, known *int64) {
		if n != nil && (known == nil || *known != *n) {
			all = append(all, Predicate{Text: "size(" + v + ")" + operator + Itoa(*n), Exact: true})
		}
	}
	count(l.Min, " >= ", declared.Min)
	count(l.Max, " <= ", declared.Max)
	least := int64(0)
	if l.Min != nil {
		least = *l.Min
	}
	for i, item := range l.Prefix {
		index := strconv.Itoa(i)
		p := Holds(item, declared.Items, v+"["+index+"]")
		if int64(i) >= least {
			p = Implies("size("+v+") > "+index, p)
		}
		all = append(all, p)
	}
	if !l.Closed {
		x := Variable(v)
		p := Holds(l.Rest, declared.Items, x)
		switch {
		case p.Text != "" && len(l.Prefix) == 0:
			p.Text = v + ".all(" + x + ", " + p.Text + ")"
		case p.Text != "":
			p = otherItems(l, p, declared, v, x)
		}
		all = append(all, p)
	}
	if l.Unique {
		x := Variable(v)
		y := Variable(v + " " + x)
		p := Predicate{Text: v + ".all(" + x + ", " + v + ".exists_one(" + y + ", " + y + " == " + x + "))", Exact: true}
		if !HasExactEquality(declared.Items) {
			p = Unknown()
		}
		all = append(all, p)
	}
	return all
}

// others is the predicate that what p says of the item x holds for all items after
// the prefix. CEL has no macro for these, but it can count: where only the first
// item may be different, at most that one is.
func otherItems(l *shape.List, p Predicate, declared shape.ListEnvelope, v, x string) Predicate {
	if p.fallible || len(l.Prefix) > 1 {
		return Unknown()
	}
	first := Holds(l.Rest, declared.Items, v+"[0]")
	p.Text = Wrap(first.Text) + " ? " + v + ".all(" + x + ", " + p.Text + ") : " + v + ".exists_one(" + x + ", " + Negated(p.Text) + ")"
	return p
}

// hasExactEquality says whether an API server takes two values of s for equal just
// where CUE does: it doesn't tell 1 from 1.0, nor numbers beyond 2^53 in 64 bits,
// and what only rendering fills in it doesn't see.
func HasExactEquality(s shape.Shape) bool {
	return !slices.ContainsFunc(s, func(t shape.Term) bool {
		switch t.Kind {
		case shape.TopKind, shape.NumberKind, shape.NullKind:
			return true
		case shape.ListKind:
			return !HasExactEquality(shape.EnvelopeOfLists(shape.Shape{t}).Items)
		case shape.StructKind:
			o := t.Object
			return o.Open || o.Unlisted || o.Values != nil && !HasExactEquality(o.Values) ||
				slices.ContainsFunc(o.Fields, func(f shape.Field) bool {
					_, ok := Field("", f.Name)
					filled := !f.Required && !f.Optional && f.Default == nil || f.Guarded || f.GuardFills
					return !ok || filled || !HasExactEquality(f.Shape)
				})
		}
		return false
	})
}
