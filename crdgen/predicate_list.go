package crdgen

import (
	"slices"
	"strconv"

	"cuelang.org/go/cue"
)

func (l *list) holds(declared listSum, v string) predicate { return allOf(l.demands(declared, v)...) }

// demands are the predicates that v is in l: one for each item of the prefix and
// for how many items there are, then those for all items, which cost more.
func (l *list) demands(declared listSum, v string) []predicate {
	var all []predicate
	count := func(n *int64, operator string, known *int64) {
		if n != nil && (known == nil || *known != *n) {
			all = append(all, predicate{text: "size(" + v + ")" + operator + itoa(*n), exact: true})
		}
	}
	count(l.min, " >= ", declared.min)
	count(l.max, " <= ", declared.max)
	least := int64(0)
	if l.min != nil {
		least = *l.min
	}
	for i, item := range l.prefix {
		index := strconv.Itoa(i)
		p := holds(item, declared.items, v+"["+index+"]")
		if int64(i) >= least {
			p = implies("size("+v+") > "+index, p)
		}
		all = append(all, p)
	}
	if !l.closed {
		x := variable(v)
		p := holds(l.rest, declared.items, x)
		switch {
		case p.text != "" && len(l.prefix) == 0:
			p.text = v + ".all(" + x + ", " + p.text + ")"
		case p.text != "":
			p = l.others(p, declared, v, x)
		}
		all = append(all, p)
	}
	if l.unique {
		x := variable(v)
		y := variable(v + " " + x)
		p := predicate{text: v + ".all(" + x + ", " + v + ".exists_one(" + y + ", " + y + " == " + x + "))", exact: true}
		if !hasExactEquality(declared.items) {
			p = unknown()
		}
		all = append(all, p)
	}
	return all
}

// others is the predicate that what p says of the item x holds for all items after
// the prefix. CEL has no macro for these, but it can count: where only the first
// item may be different, at most that one is.
func (l *list) others(p predicate, declared listSum, v, x string) predicate {
	if p.fallible || len(l.prefix) > 1 {
		return unknown()
	}
	first := holds(l.rest, declared.items, v+"[0]")
	p.text = wrap(first.text) + " ? " + v + ".all(" + x + ", " + p.text + ") : " + v + ".exists_one(" + x + ", " + negated(p.text) + ")"
	return p
}

// hasExactEquality says whether an API server takes two values of s for equal just
// where CUE does: it doesn't tell 1 from 1.0, nor numbers beyond 2^53 in 64 bits,
// and what only rendering fills in it doesn't see.
func hasExactEquality(s shape) bool {
	return !slices.ContainsFunc(s, func(t term) bool {
		switch t.kind {
		case cue.TopKind, cue.NumberKind, cue.NullKind:
			return true
		case cue.ListKind:
			return !hasExactEquality(sumOfLists(shape{t}).items)
		case cue.StructKind:
			o := t.object
			return o.open || o.unread || o.values != nil && !hasExactEquality(o.values) ||
				slices.ContainsFunc(o.fields, func(f field) bool {
					_, ok := celField("", f.name)
					filled := !f.required && !f.optional && f.value == nil || f.conditional || f.filled
					return !ok || filled || !hasExactEquality(f.shape)
				})
		}
		return false
	})
}
