package crdgen

import (
	"bytes"
	"reflect"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/token"
)

// shape is a set of JSON values: the union of its terms. The empty shape admits
// nothing.
type shape []term

// term is the values of one kind that meet its constraints. Only the
// constraints of its own kind are set.
type term struct {
	// kind is one of NullKind, BoolKind, IntKind, NumberKind, StringKind,
	// ListKind and StructKind, or TopKind for any value at all.
	kind cue.Kind
	// value, where it is set, is the only value that the term admits.
	value  *literal
	num    numbers
	str    text
	list   *list
	object *object
	// checks are further demands, of which only CEL can say any.
	checks []check
}

// list constrains lists: the first items by prefix, the others by rest.
type list struct {
	prefix []shape
	// rest is nil for lists that have no items after the prefix.
	rest     shape
	closed   bool
	min, max *int64
	// unique says that no two items are equal.
	unique bool
}

// object constrains structs.
type object struct {
	// fields are sorted by name.
	fields []field
	// values is what the fields that are not listed must be; it is nil where
	// there can be none.
	values shape
	// open admits fields that are neither listed nor described by values.
	open     bool
	min, max *int64
	// patterns are what fields that are not listed must be besides, if their
	// names match; keysClosed says that each must match one of them.
	patterns   []keyPattern
	keysClosed bool
	// rules are demands on several fields.
	rules []rule
	// preferred says that a default decides between o and other structs.
	preferred bool
}

// keyPattern constrains the fields whose names are in key.
type keyPattern struct {
	key, values shape
	// text is the key in CUE's words.
	text string
	pos  token.Pos
}

func (p keyPattern) equal(q keyPattern) bool { return p.key.equal(q.key) && p.values.equal(q.values) }

// field is one field of an object, or an object's spec itself.
type field struct {
	name        string
	shape       shape
	description string
	required    bool
	// optional fields are absent unless the instance has them. What is neither
	// required nor optional is filled in where the instance leaves it out.
	optional bool
	// filled says of an optional field that it may have a value of its own once
	// a comprehension makes it regular.
	filled bool
	// conditional fields are there only under a condition.
	conditional bool
	// attributes are what @k8s says of the field, or nil.
	attributes *attributes
	// value is the JSON default of the field, or nil.
	value []byte
	pos   token.Pos
}

// equal says whether the two shapes were read alike. Equal sets of values that
// were read differently count as different, which costs no more than precision.
func (s shape) equal(u shape) bool { return slices.EqualFunc(s, u, term.equal) }

func (t term) equal(u term) bool {
	if t.kind != u.kind || (t.value == nil) != (u.value == nil) || (t.list == nil) != (u.list == nil) || (t.object == nil) != (u.object == nil) {
		return false
	}
	return (t.value == nil || t.value.equal(*u.value)) &&
		reflect.DeepEqual(t.num, u.num) && reflect.DeepEqual(t.str, u.str) && slices.EqualFunc(t.checks, u.checks, check.equal) &&
		(t.list == nil || t.list.equal(u.list)) && (t.object == nil || t.object.equal(u.object))
}

func (l *list) equal(m *list) bool {
	return l.closed == m.closed && l.rest.equal(m.rest) && slices.EqualFunc(l.prefix, m.prefix, shape.equal) &&
		reflect.DeepEqual(l.min, m.min) && reflect.DeepEqual(l.max, m.max) && l.unique == m.unique
}

// equal ignores where the fields are described.
func (o *object) equal(p *object) bool {
	return o.open == p.open && o.values.equal(p.values) && o.keysClosed == p.keysClosed &&
		slices.EqualFunc(o.patterns, p.patterns, keyPattern.equal) && slices.EqualFunc(o.rules, p.rules, rule.equal) &&
		reflect.DeepEqual(o.min, p.min) && reflect.DeepEqual(o.max, p.max) &&
		slices.EqualFunc(o.fields, p.fields, func(f, g field) bool {
			return f.name == g.name && f.required == g.required && f.optional == g.optional && bytes.Equal(f.value, g.value) && f.shape.equal(g.shape)
		})
}

// anything admits every value.
func anything() shape { return shape{{kind: cue.TopKind}} }

// termKinds are the kinds besides numbers, in the order of a shape's terms.
func termKinds() []cue.Kind {
	return []cue.Kind{cue.BoolKind, cue.StringKind, cue.ListKind, cue.StructKind, cue.NullKind}
}

// ofKinds admits every value of the kinds.
func ofKinds(kinds cue.Kind) shape {
	if kinds == cue.TopKind {
		return anything()
	}
	var s shape
	switch {
	case kinds&cue.FloatKind != 0:
		// An int is a good value where CUE wants a float: YAML and JSON have
		// one kind of number, and rendering converts.
		s = append(s, term{kind: cue.NumberKind})
	case kinds&cue.IntKind != 0:
		s = append(s, term{kind: cue.IntKind})
	}
	if kinds&cue.BytesKind != 0 {
		// An API server knows bytes as strings only.
		kinds |= cue.StringKind
	}
	for _, k := range termKinds() {
		if kinds&k == 0 {
			continue
		}
		t := term{kind: k}
		switch k {
		case cue.ListKind:
			t.list = &list{rest: anything()}
		case cue.StructKind:
			t.object = &object{open: true}
		}
		s = append(s, t)
	}
	return s
}

// either is the union of shapes, without terms that others cover.
func either(shapes ...shape) shape {
	var all, out shape
	for _, s := range shapes {
		all = append(all, s...)
	}
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

// both is the intersection of two shapes, or a superset of it where the
// intersection has no term of its own.
func both(a, b shape) shape {
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

func byName(f field, name string) int { return strings.Compare(f.name, name) }

// lookup is the field of that name, or nil.
func (o *object) lookup(name string) *field {
	i, found := slices.BinarySearchFunc(o.fields, name, byName)
	if !found {
		return nil
	}
	return &o.fields[i]
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
