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
	// unread says that rendering may fill in more fields than are listed.
	unread bool
	// rules are demands on several fields.
	rules []rule
	// preferred says that a default decides between o and other structs, standing
	// that o is that default, and complete whatever the instance adds.
	preferred, standing bool
	// apart says that o and the other structs of its shape are for different
	// places, so that nothing is left to choose.
	apart bool
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
	// clashes says that a field that the instance leaves out may contradict what
	// conditions make of it.
	clashes bool
	// unless is set where the field must be given unless conditions fill it.
	unless *unless
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

// isAnything says whether s is anything().
func (s shape) isAnything() bool {
	return len(s) == 1 && s[0].kind == cue.TopKind && len(s[0].checks) == 0
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

func byName(f field, name string) int { return strings.Compare(f.name, name) }

// lookup is the field of that name, or nil.
func (o *object) lookup(name string) *field {
	i, found := slices.BinarySearchFunc(o.fields, name, byName)
	if !found {
		return nil
	}
	return &o.fields[i]
}
