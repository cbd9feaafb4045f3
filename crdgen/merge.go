package crdgen

import (
	"slices"

	"cuelang.org/go/cue"
)

// either is the union of shapes, without terms that others cover.
func either(shapes ...shape) shape {
	all := slices.Concat(shapes...)
	if len(all) < 2 {
		return all
	}
	var out shape
	for _, t := range all {
		if t.kind == cue.TopKind && len(t.checks) == 0 {
			return anything()
		}
		if !slices.ContainsFunc(out, t.equal) && !slices.ContainsFunc(all, t.within) {
			out = append(out, t)
		}
	}
	return out
}

// merge is the union of shapes that are for different places, such as the items of
// a tuple or a field in the members of a union.
func merge(shapes ...shape) shape {
	out := either(shapes...)
	chosen := slices.ContainsFunc(shapes, func(s shape) bool { return s.choices() > 1 })
	if out.choices() < 2 && !chosen {
		return out
	}
	for i, t := range out {
		if t.kind == cue.StructKind {
			o := *t.object
			o.apart, o.preferred, o.standing = !chosen, o.preferred || chosen, false
			out[i].object = &o
		}
	}
	return out
}

// choices is how many structs there are to choose from.
func (s shape) choices() int {
	n := 0
	for _, t := range s {
		if t.kind == cue.StructKind && !t.object.apart {
			n++
		}
	}
	return n
}

// within says whether u covers t: a literal in a range, or a struct in a map.
// It may miss that, which costs no more than precision.
func (t term) within(u term) bool {
	switch {
	case len(u.checks) > 0:
		return false
	case t.kind == cue.StructKind && u.kind == cue.StructKind:
		return t.object.within(u.object)
	case t.value == nil || u.value != nil:
		return false
	}
	_, ok := t.meet(u)
	return ok
}

func (o *object) within(m *object) bool {
	if m.values == nil || len(m.fields) > 0 || m.min != nil || m.max != nil || len(m.patterns) > 0 || len(m.rules) > 0 || o.values != nil || o.open {
		return false
	}
	return !slices.ContainsFunc(o.fields, func(f field) bool { return !f.shape.within(m.values) })
}

func (s shape) within(u shape) bool {
	return !slices.ContainsFunc(s, func(t term) bool {
		return !slices.ContainsFunc(u, func(v term) bool { return v.kind == cue.TopKind && len(v.checks) == 0 || t.equal(v) || t.within(v) })
	})
}
