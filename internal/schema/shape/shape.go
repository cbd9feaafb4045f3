package shape

import (
	"bytes"
	"reflect"
	"slices"
	"strings"

	"github.com/pequod-io/pequod/internal/problem"
)

// shape is a set of JSON values: the union of its terms. The empty shape admits
// nothing.
type Shape []Term

// term is the values of one kind that meet its constraints. Only the
// constraints of its own kind are set.
type Term struct {
	// kind is one of NullKind, BoolKind, IntKind, NumberKind, StringKind,
	// ListKind and StructKind, or TopKind for any value at all.
	Kind Kind
	// value, where it is set, is the only value that the term admits.
	Value   *Literal
	Numbers Numbers
	Strings Strings
	List    *List
	Object  *Object
	// checks are further demands, of which only CEL can say any.
	Checks []Check
}

// list constrains lists: the first items by prefix, the others by rest.
type List struct {
	Prefix []Shape
	// rest is nil for lists that have no items after the prefix.
	Rest     Shape
	Closed   bool
	Min, Max *int64
	// unique says that no two items are equal.
	Unique bool
}

// object constrains structs.
type Object struct {
	// fields are sorted by name.
	Fields []Field
	// values is what the fields that are not listed must be; it is nil where
	// there can be none.
	Values Shape
	// open admits fields that are neither listed nor described by values.
	Open     bool
	Min, Max *int64
	// patterns are what fields that are not listed must be besides, if their
	// names match; keysClosed says that each must match one of them.
	Patterns   []KeyPattern
	KeysClosed bool
	// unread says that rendering may fill in more fields than are listed.
	Unlisted bool
	// rules are demands on several fields.
	Rules []Rule
	// preferred says that a default decides between o and other structs, standing
	// that o is that default, and complete whatever the instance adds.
	Preferred, IsDefault bool
	// apart says that o and the other structs of its shape are for different
	// places, so that nothing is left to choose.
	Separate bool
}

// keyPattern constrains the fields whose names are in key.
type KeyPattern struct {
	Key, Values Shape
	// text is the key in CUE's words.
	Text string
	Pos  problem.Position
}

func (p KeyPattern) Equal(q KeyPattern) bool { return p.Key.Equal(q.Key) && p.Values.Equal(q.Values) }

// field is one field of an object, or an object's spec itself.
type Field struct {
	Name        string
	Shape       Shape
	Description string
	Required    bool
	// optional fields are absent unless the instance has them. What is neither
	// required nor optional is filled in where the instance leaves it out.
	Optional bool
	// filled says of an optional field that it may have a value of its own once
	// a comprehension makes it regular.
	GuardFills bool
	// conditional fields are there only under a condition.
	Guarded bool
	// clashes says that a field that the instance leaves out may contradict what
	// conditions make of it.
	GuardClashes bool
	// attributes are what @k8s says of the field, or nil.
	Attributes *Attributes
	// value is the JSON default of the field, or nil.
	Default []byte
	Pos     problem.Position
}

// equal says whether the two shapes were read alike. Equal sets of values that
// were read differently count as different, which costs no more than precision.
func (s Shape) Equal(u Shape) bool { return slices.EqualFunc(s, u, Term.Equal) }

func (t Term) Equal(u Term) bool {
	if t.Kind != u.Kind || (t.Value == nil) != (u.Value == nil) || (t.List == nil) != (u.List == nil) || (t.Object == nil) != (u.Object == nil) {
		return false
	}
	return (t.Value == nil || t.Value.equal(*u.Value)) &&
		reflect.DeepEqual(t.Numbers, u.Numbers) && reflect.DeepEqual(t.Strings, u.Strings) && slices.EqualFunc(t.Checks, u.Checks, Check.equal) &&
		(t.List == nil || t.List.equal(u.List)) && (t.Object == nil || t.Object.equal(u.Object))
}

func (l *List) equal(m *List) bool {
	return l.Closed == m.Closed && l.Rest.Equal(m.Rest) && slices.EqualFunc(l.Prefix, m.Prefix, Shape.Equal) &&
		reflect.DeepEqual(l.Min, m.Min) && reflect.DeepEqual(l.Max, m.Max) && l.Unique == m.Unique
}

// equal ignores where the fields are described.
func (o *Object) equal(p *Object) bool {
	return o.Open == p.Open && o.Values.Equal(p.Values) && o.KeysClosed == p.KeysClosed &&
		slices.EqualFunc(o.Patterns, p.Patterns, KeyPattern.Equal) && slices.EqualFunc(o.Rules, p.Rules, Rule.equal) &&
		reflect.DeepEqual(o.Min, p.Min) && reflect.DeepEqual(o.Max, p.Max) &&
		slices.EqualFunc(o.Fields, p.Fields, func(f, g Field) bool {
			return f.Name == g.Name && f.Required == g.Required && f.Optional == g.Optional && bytes.Equal(f.Default, g.Default) && f.Shape.Equal(g.Shape)
		})
}

// anything admits every value.
func Any() Shape { return Shape{{Kind: TopKind}} }

// isAnything says whether s is anything().
func (s Shape) IsAnything() bool {
	return len(s) == 1 && s[0].Kind == TopKind && len(s[0].Checks) == 0
}

// ofKinds admits every value of the kinds.
func OfKinds(kinds Kind) Shape {
	if kinds == TopKind {
		return Any()
	}
	var s Shape
	switch {
	case kinds&FloatKind != 0:
		// An int is a good value where CUE wants a float: YAML and JSON have
		// one kind of number, and rendering converts.
		s = append(s, Term{Kind: NumberKind})
	case kinds&IntKind != 0:
		s = append(s, Term{Kind: IntKind})
	}
	if kinds&BytesKind != 0 {
		// An API server knows bytes as strings only.
		kinds |= StringKind
	}
	for _, k := range termKinds() {
		if kinds&k == 0 {
			continue
		}
		t := Term{Kind: k}
		switch k {
		case ListKind:
			t.List = &List{Rest: Any()}
		case StructKind:
			t.Object = &Object{Open: true}
		}
		s = append(s, t)
	}
	return s
}

func ByName(f Field, name string) int { return strings.Compare(f.Name, name) }

// lookup is the field of that name, or nil.
func (o *Object) Lookup(name string) *Field {
	i, found := slices.BinarySearchFunc(o.Fields, name, ByName)
	if !found {
		return nil
	}
	return &o.Fields[i]
}

// withoutNull splits null off.
func WithoutNull(s Shape) (Shape, bool) {
	rest := slices.DeleteFunc(slices.Clone(s), func(t Term) bool { return t.Kind == NullKind })
	return rest, len(rest) < len(s)
}

// kindsOf is the union of the terms' kinds; TopKind only for anything.
func KindsOf(s Shape) Kind {
	var kinds Kind
	for _, t := range s {
		kinds |= t.Kind
	}
	return kinds
}

// isMap says whether the schema writes o as a map, which CEL sees as one.
func (o *Object) IsMap() bool {
	return o.Values != nil && len(o.Fields) == 0 && !o.Open && !o.Values.Equal(Any())
}

func IsNullable(s Shape) bool {
	_, nullable := WithoutNull(s)
	return nullable
}
