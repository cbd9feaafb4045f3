package cel

import (
	"slices"
	"strconv"

	"github.com/pequod-io/pequod/internal/schema/shape"
)

// HoldsList returns the predicate that v is in l.
func HoldsList(l *shape.List, declared shape.ListEnvelope, v string) Predicate {
	return AllOf(ListDemands(l, declared, v)...)
}

// ListDemands returns the predicates whose conjunction is [HoldsList]: first
// one for each item of the prefix and one for the number of items, then those
// for all items, which an API server finds more expensive. The caller may write
// each as a rule of its own, so that an expensive one can be dropped alone.
func ListDemands(l *shape.List, declared shape.ListEnvelope, v string) []Predicate {
	all := sizeDemands(v, l.Min, l.Max, declared.Min, declared.Max)
	least := int64(0)
	if l.Min != nil {
		least = *l.Min
	}
	for i, item := range l.Prefix {
		index := strconv.Itoa(i)
		p := Holds(item, declared.Items, v+"["+index+"]")
		if int64(i) >= least {
			// Lists may be too short to have this item.
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
		// Each item must be the only one that equals it. The cost is quadratic in
		// the number of items.
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

// sizeDemands returns the predicates that the size of v, a list or a map, is
// within the limits. A limit that the schema has as well needs no predicate.
func sizeDemands(v string, least, most, knownLeast, knownMost *int64) []Predicate {
	var all []Predicate
	demand := func(n *int64, operator string, known *int64) {
		if n != nil && (known == nil || *known != *n) {
			all = append(all, Predicate{Text: "size(" + v + ")" + operator + Itoa(*n), Exact: true})
		}
	}
	demand(least, " >= ", knownLeast)
	demand(most, " <= ", knownMost)
	return all
}

// otherItems returns the predicate that all items after the prefix satisfy p, a
// predicate about the item x. CEL has no macro that skips items, but it can
// count. If only the first item may differ, at most one item may fail p. Longer
// prefixes are [Unknown].
func otherItems(l *shape.List, p Predicate, declared shape.ListEnvelope, v, x string) Predicate {
	if p.fallible || len(l.Prefix) > 1 {
		return Unknown()
	}
	first := Holds(l.Rest, declared.Items, v+"[0]")
	p.Text = Wrap(first.Text) + " ? " + v + ".all(" + x + ", " + p.Text + ") : " + v + ".exists_one(" + x + ", " + Negated(p.Text) + ")"
	return p
}

// HasExactEquality reports whether an API server finds two values of s equal
// exactly when CUE does. It doesn't distinguish 1 from 1.0 or numbers beyond
// 2^53, and it doesn't see fields that rendering supplies.
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
