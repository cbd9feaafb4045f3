package crdgen

import (
	"slices"
	"strconv"

	"cuelang.org/go/cue"
)

func (l *list) holds(declared listSum, v string) predicate {
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
			p = unknown() // CEL has no macro for the items after the first
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
	return allOf(all...)
}

// hasExactEquality says whether CEL finds no two different values of s equal, as
// it does with numbers beyond 2^53 in 64 bits.
func hasExactEquality(s shape) bool {
	return !slices.ContainsFunc(s, func(t term) bool {
		switch t.kind {
		case cue.TopKind, cue.NumberKind:
			return true
		case cue.ListKind:
			return !hasExactEquality(sumOfLists(shape{t}).items)
		case cue.StructKind:
			o := t.object
			return o.open || o.values != nil && !hasExactEquality(o.values) ||
				slices.ContainsFunc(o.fields, func(f field) bool {
					_, ok := celField("", f.name)
					return !ok || !hasExactEquality(f.shape)
				})
		}
		return false
	})
}
