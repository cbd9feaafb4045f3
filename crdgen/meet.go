package crdgen

import (
	"slices"

	"cuelang.org/go/cue"
)

// both is the intersection of two shapes, or a superset of it where the
// intersection has no term of its own.
func both(a, b shape) shape {
	switch {
	case a.isAnything():
		return either(b)
	case b.isAnything():
		return either(a)
	}
	var out shape
	for _, x := range a {
		for _, y := range b {
			if t, ok := x.meet(y); ok {
				out = append(out, t)
			}
		}
	}
	return either(out)
}

// meet narrows t by u. It reports false if no value can satisfy the two.
func (t term) meet(u term) (term, bool) {
	checks := append(slices.Clone(t.checks), u.checks...)
	switch {
	case t.kind == cue.TopKind:
		u.checks = checks
		return u, true
	case u.kind == cue.TopKind:
		t.checks = checks
		return t, true
	case t.kind == cue.NumberKind && u.kind == cue.IntKind:
		t.kind = cue.IntKind
	case t.kind == cue.IntKind && u.kind == cue.NumberKind:
	case t.kind != u.kind:
		return term{}, false
	}
	switch {
	case t.value != nil && u.value != nil && !t.value.equal(*u.value):
		return term{}, false
	case t.value == nil:
		t.value = u.value
	}
	ok := true
	t.checks = checks
	switch t.kind {
	case cue.IntKind, cue.NumberKind:
		t.num, ok = t.num.meet(u.num)
	case cue.StringKind:
		t.str = t.str.meet(u.str)
	case cue.ListKind:
		l := t.list.meet(u.list)
		t.list = &l
	case cue.StructKind:
		o := t.object.meet(u.object)
		t.object = &o
	}
	if t.value != nil {
		ok = ok && t.num.admits(*t.value) && t.str.admits(*t.value)
		if t.kind == cue.IntKind && t.value.number != nil && !t.value.number.IsInt() {
			return term{}, false
		}
		// The literal says it all.
		t.num, t.str = numbers{}, text{}
	}
	return t, ok
}

func (l *list) meet(m *list) list {
	out := list{min: larger(l.min, m.min), max: smaller(l.max, m.max), closed: l.closed || m.closed, unique: l.unique || m.unique}
	at := func(l *list, i int) shape {
		if i < len(l.prefix) {
			return l.prefix[i]
		}
		return l.rest
	}
	for i := range max(len(l.prefix), len(m.prefix)) {
		out.prefix = append(out.prefix, both(at(l, i), at(m, i)))
	}
	if !out.closed {
		out.rest = both(l.rest, m.rest)
	}
	return out
}

// meet admits the fields of the two objects. Fields that one of them doesn't
// list stay possible: whether a closed struct was unified or embedded, which
// decides it, is not known here.
func (o *object) meet(p *object) object {
	out := object{open: o.open && p.open, min: larger(o.min, p.min), max: smaller(o.max, p.max), keysClosed: o.keysClosed || p.keysClosed}
	out.patterns = append(slices.Clone(o.patterns), p.patterns...)
	out.rules = append(slices.Clone(o.rules), p.rules...)
	out.unread = o.unread || p.unread
	out.preferred, out.standing = o.preferred || p.preferred, o.standing && !p.preferred || p.standing && !o.preferred
	switch {
	case o.values == nil:
		out.values = p.values
	case p.values == nil:
		out.values = o.values
	default:
		out.values = both(o.values, p.values)
	}
	out.fields = slices.Clone(o.fields)
	for _, f := range p.fields {
		i, found := slices.BinarySearchFunc(out.fields, f.name, byName)
		if !found {
			out.fields = slices.Insert(out.fields, i, f)
			continue
		}
		g := &out.fields[i]
		g.shape = both(g.shape, f.shape)
		g.required = g.required || f.required
		g.optional = g.optional && f.optional
		if string(g.value) != string(f.value) {
			g.value = nil
		}
		if g.description == "" {
			g.description = f.description
		}
		if g.attributes == nil {
			g.attributes = f.attributes
		}
	}
	return out
}

func larger(a, b *int64) *int64 {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}

func smaller(a, b *int64) *int64 {
	if a == nil || b != nil && *b < *a {
		return b
	}
	return a
}
