package crdgen

import (
	"cuelang.org/go/cue"
	"cuelang.org/go/cue/token"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// listSum is what the schema declares for lists: items that are all alike, and
// how many there are.
type listSum struct {
	items    shape
	min, max *int64
	// alike says that the lists admit the same items in every place.
	alike bool
}

// sumOfLists is as wide as the widest of the lists.
func sumOfLists(s shape) listSum {
	out := listSum{alike: true}
	add := func(item shape) {
		if len(out.items) > 0 && !out.items.equal(item) {
			out.alike = false
		}
		out.items = merge(out.items, item)
	}
	for i, t := range s {
		for _, item := range t.list.prefix {
			add(item)
		}
		if !t.list.closed {
			add(t.list.rest)
		}
		if i == 0 {
			out.min, out.max = t.list.min, t.list.max
			continue
		}
		if out.min != nil && (t.list.min == nil || *t.list.min < *out.min) {
			out.min = t.list.min
		}
		if out.max != nil && (t.list.max == nil || *t.list.max > *out.max) {
			out.max = t.list.max
		}
	}
	if len(out.items) == 0 {
		out.items = anything() // there are none
	}
	return out
}

// list writes lists.
func (w writer) list(out *props, s shape, p place) {
	out.Type = "array"
	sum := sumOfLists(s)
	out.MinItems, out.MaxItems = sum.min, sum.max
	at := p.in("[]", token.NoPos)
	at.defaults = p.defaults && sum.alike && len(s) == 1
	schema := w.schema(sum.items, at)
	out.Items = &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &schema}

	set := len(s) == 1 && s[0].list.unique && !p.bare && isSetItem(sum.items)
	if set {
		kind, whole := "set", "atomic"
		out.XListType = &kind
		if schema.Type == "object" {
			out.Items.Schema.XMapType = &whole
		}
	}
	if len(s) == 1 && sum.alike && (set || !s[0].list.unique) {
		return
	}
	if w.alternatives(out, s, sum) {
		return
	}
	if w.listRules(out, s, sum, set, p) {
		return
	}
	switch {
	case len(s) > 1:
		w.notes.add(p.pos, p.path, "the choice between lists")
	case !sum.alike:
		w.notes.add(p.pos, p.path, "which item takes which value")
	}
	if len(s) == 1 && s[0].list.unique && !set {
		w.notes.add(p.pos, p.path, "list.UniqueItems()")
	}
}

// listRules writes what only CEL can say. What one list demands becomes several
// rules, so that an API server that finds one too costly takes the others.
func (w writer) listRules(out *props, s shape, sum listSum, set bool, p place) bool {
	if p.bare || !isAccessible(s) {
		return false
	}
	var members []predicate
	for _, t := range s {
		l := *t.list
		l.unique = l.unique && !set
		if len(s) > 1 {
			members = append(members, l.holds(sum, "self"))
			continue
		}
		all := l.demands(sum, "self")
		cheap := allOf(all[:min(len(l.prefix), len(all))]...)
		ok := w.rule(out, p, cheap, listMessage(s))
		for _, q := range all[min(len(l.prefix), len(all)):] {
			ok = w.rule(out, p, q, listMessage(s)) && ok
		}
		return ok
	}
	return w.rule(out, p, anyOf(members...), listMessage(s))
}

// alternatives writes a choice between lists whose items are scalars, all alike
// within a list. It reports false for any other choice.
func (w writer) alternatives(out *props, s shape, sum listSum) bool {
	var members []props
	for _, t := range s {
		if len(t.list.prefix) > 0 || t.list.unique || t.list.closed && t.list.max == nil {
			return false
		}
		m := props{}
		if t.list.min != nil && (sum.min == nil || *sum.min != *t.list.min) {
			m.MinItems = t.list.min
		}
		if t.list.max != nil && (sum.max == nil || *sum.max != *t.list.max) {
			m.MaxItems = t.list.max
		}
		if !t.list.closed && !t.list.rest.equal(sum.items) {
			item, ok := w.narrowed(t.list.rest, sum.items)
			if !ok {
				return false
			}
			m.Items = &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &item}
		}
		if isEmpty(m) {
			return false
		}
		members = append(members, m)
	}
	if len(members) < 2 {
		return false
	}
	conjoin(out, props{AnyOf: members})
	return true
}

func listMessage(s shape) string {
	switch {
	case len(s) > 1:
		return "must be one of the lists that the schema describes"
	case s[0].list.unique:
		return "must not hold an item twice"
	}
	return "each item must be what the schema says for its place"
}

// isSetItem says whether an API server compares items in a set as CUE does.
func isSetItem(s shape) bool {
	switch kindsOf(s) {
	case cue.StringKind, cue.IntKind, cue.BoolKind:
		return true
	case cue.StructKind:
		return len(s) == 1 && hasExactEquality(s)
	}
	return false
}
