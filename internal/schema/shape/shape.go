package shape

import (
	"bytes"
	"math/big"
	"reflect"
	"slices"
	"strings"

	"github.com/pequod-io/pequod/internal/problem"
)

// Shape is a set of JSON values: the union of its terms. The empty shape admits
// nothing.
type Shape []Term

// Term is the values of one kind that meet its constraints. Only the
// constraints of its own kind are set.
type Term struct {
	// Kind is one of NullKind, BoolKind, IntKind, NumberKind, StringKind,
	// ListKind and StructKind, or TopKind for any value at all.
	Kind Kind
	// Value, if set, is the only value that the term admits.
	Value *Literal
	// Numbers, Strings, List and Object are the constraints of the kind.
	Numbers Numbers
	Strings Strings
	List    *List
	Object  *Object
	// Checks are further constraints. Some of them can be written in CEL, none
	// in an OpenAPI schema.
	Checks []Check
}

// List constrains lists: Prefix the first items, Rest the others.
type List struct {
	// Prefix has one shape per index.
	Prefix []Shape
	// Rest is nil for lists that have no items after the prefix.
	Rest Shape
	// Closed means that there are no items after the prefix.
	Closed bool
	// Min and Max bound the number of items; nil means no bound.
	Min, Max *int64
	// Unique means that no two items are equal.
	Unique bool
}

// Object constrains structs, and maps, which are structs with Values and
// without Fields.
type Object struct {
	// Fields are sorted by name.
	Fields []Field
	// Values constrains the fields that are not listed. It is nil if there can be
	// none.
	Values Shape
	// Open admits fields that are neither listed nor described by Values.
	Open bool
	// Min and Max bound the number of fields; nil means no bound.
	Min, Max *int64
	// Patterns constrain further the fields that are not listed and whose names
	// match. KeysClosed means that every such name must match one of them.
	Patterns   []KeyPattern
	KeysClosed bool
	// Unlisted means that rendering may add fields that are not listed. What
	// counts the fields, or compares whole structs, is then not exact.
	Unlisted bool
	// Rules are constraints about several fields.
	Rules []Rule
	// Preferred means that a default decides between this object and the others
	// of its shape. IsDefault means that this object is that default, and that
	// nothing in an instance can make it incomplete.
	Preferred, IsDefault bool
	// Separate means that this object and the others of its shape describe
	// values at different positions, such as the items of a tuple, so that
	// there is no choice between them to make.
	Separate bool
}

// KeyPattern constrains the fields whose names are in Key.
type KeyPattern struct {
	// Key admits the names. It is empty if they are not known.
	Key, Values Shape
	// Text is the pattern in CUE syntax, for messages.
	Text string
	// Pos is the position of the pattern in the schema.
	Pos problem.Position
}

// Equal ignores texts and positions.
func (p KeyPattern) Equal(q KeyPattern) bool { return p.Key.Equal(q.Key) && p.Values.Equal(q.Values) }

// Field is one field of an object, or the spec of an instance as a whole.
type Field struct {
	// Name is the key, unquoted.
	Name string
	// Shape constrains the value of the field if it is present.
	Shape Shape
	// Description is the doc comment of the field.
	Description string
	// Required means that an instance must have the field.
	Required bool
	// Optional means that the field is absent unless the instance has it.
	// Rendering supplies a field that is neither required nor optional.
	Optional bool
	// GuardFills means that an optional field may get a value from the body of
	// a CUE if, although the instance has none.
	GuardFills bool
	// Guarded means that the field is declared only in the bodies of CUE ifs.
	Guarded bool
	// GuardClashes means that the value that rendering supplies may contradict
	// the body of a CUE if.
	GuardClashes bool
	// Attributes are the arguments of the field's @k8s attributes, or nil.
	Attributes *Attributes
	// Default is the JSON of the field's default, or nil. It is set only if an
	// instance renders the same with the default written out.
	Default []byte
	// Pos is where the schema declares the field.
	Pos problem.Position
}

// Equal reports whether two shapes were read from equal constraints. Equal sets
// that were read from different constraints count as different, which costs
// precision but is never wrong.
func (s Shape) Equal(u Shape) bool { return slices.EqualFunc(s, u, Term.Equal) }

// Equal compares constraints, not sets; see [Shape.Equal].
func (t Term) Equal(u Term) bool {
	if t.Kind != u.Kind || (t.Value == nil) != (u.Value == nil) || (t.List == nil) != (u.List == nil) || (t.Object == nil) != (u.Object == nil) {
		return false
	}
	return (t.Value == nil || t.Value.equal(*u.Value)) &&
		reflect.DeepEqual(t.Numbers, u.Numbers) && reflect.DeepEqual(t.Strings, u.Strings) && slices.EqualFunc(t.Checks, u.Checks, Check.equal) &&
		(t.List == nil || t.List.equal(u.List)) && (t.Object == nil || t.Object.equal(u.Object))
}

// equal compares constraints, not sets.
func (l *List) equal(m *List) bool {
	return l.Closed == m.Closed && l.Rest.Equal(m.Rest) && slices.EqualFunc(l.Prefix, m.Prefix, Shape.Equal) &&
		reflect.DeepEqual(l.Min, m.Min) && reflect.DeepEqual(l.Max, m.Max) && l.Unique == m.Unique
}

// equal ignores descriptions and positions.
func (o *Object) equal(p *Object) bool {
	return o.Open == p.Open && o.Values.Equal(p.Values) && o.KeysClosed == p.KeysClosed &&
		slices.EqualFunc(o.Patterns, p.Patterns, KeyPattern.Equal) && slices.EqualFunc(o.Rules, p.Rules, Rule.equal) &&
		reflect.DeepEqual(o.Min, p.Min) && reflect.DeepEqual(o.Max, p.Max) &&
		slices.EqualFunc(o.Fields, p.Fields, func(f, g Field) bool {
			return f.Name == g.Name && f.Required == g.Required && f.Optional == g.Optional && bytes.Equal(f.Default, g.Default) && f.Shape.Equal(g.Shape)
		})
}

// Any returns the shape that admits every value.
func Any() Shape { return Shape{{Kind: TopKind}} }

// IsAnything reports whether s is [Any].
func (s Shape) IsAnything() bool {
	return len(s) == 1 && s[0].Kind == TopKind && len(s[0].Checks) == 0
}

// OfKinds returns the shape that admits every value of the given kinds.
func OfKinds(kinds Kind) Shape {
	if kinds == TopKind {
		return Any()
	}
	var s Shape
	switch {
	case kinds&FloatKind != 0:
		// CUE's float includes integers here: YAML and JSON have one kind of
		// number, and rendering converts.
		s = append(s, Term{Kind: NumberKind})
	case kinds&IntKind != 0:
		s = append(s, Term{Kind: IntKind})
	}
	if kinds&BytesKind != 0 {
		// An API server represents bytes as strings.
		kinds |= StringKind
	}
	for _, k := range []Kind{BoolKind, StringKind, ListKind, StructKind, NullKind} {
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

// ByName compares a field with a name, for binary searches in [Object.Fields].
func ByName(f Field, name string) int { return strings.Compare(f.Name, name) }

// Lookup returns the field called name, or nil.
func (o *Object) Lookup(name string) *Field {
	i, found := slices.BinarySearchFunc(o.Fields, name, ByName)
	if !found {
		return nil
	}
	return &o.Fields[i]
}

// AdmitsName reports whether o may have a field called name. It is also true if the
// keys of o are not known.
func (o *Object) AdmitsName(name string) bool {
	if !o.KeysClosed || o.Lookup(name) != nil {
		return o.Open || o.Values != nil || o.Lookup(name) != nil
	}
	key := Shape{{Kind: StringKind, Value: &Literal{String: &name}}}
	return slices.ContainsFunc(o.Patterns, func(p KeyPattern) bool { return len(p.Key) == 0 || len(Intersect(p.Key, key)) > 0 })
}

// Only returns the terms of s that are of one of the kinds.
func (s Shape) Only(kinds Kind) Shape {
	return slices.DeleteFunc(slices.Clone(s), func(t Term) bool { return t.Kind&kinds == 0 })
}

// WithoutNull returns s without null, and reports whether s admitted it.
func WithoutNull(s Shape) (Shape, bool) {
	rest := slices.DeleteFunc(slices.Clone(s), func(t Term) bool { return t.Kind == NullKind })
	return rest, len(rest) < len(s)
}

// KindsOf returns the kinds of all terms. It contains TopKind only if s has a
// term for any value.
func KindsOf(s Shape) Kind {
	var kinds Kind
	for _, t := range s {
		kinds |= t.Kind
	}
	return kinds
}

// IsMap reports whether an OpenAPI schema declares o as a map. CEL then treats
// it as one.
func (o *Object) IsMap() bool {
	return o.Values != nil && len(o.Fields) == 0 && !o.Open && !o.Values.Equal(Any())
}

// IsNullable reports whether s admits null.
func IsNullable(s Shape) bool {
	_, nullable := WithoutNull(s)
	return nullable
}

// Interval returns the ends of the range of numbers that t admits; nil means
// that there is no end.
func (t Term) Interval() (low, high *big.Rat) {
	if t.Value != nil {
		return t.Value.Number, t.Value.Number
	}
	if t.Numbers.Min != nil {
		low = t.Numbers.Min.At
	}
	if t.Numbers.Max != nil {
		high = t.Numbers.Max.At
	}
	return low, high
}

// OfFormat returns the values of the given kinds, with the strings among them
// narrowed to f.
func OfFormat(f Format, kinds Kind) Shape {
	if kinds == TopKind {
		kinds = StringKind
		if f != FormatCIDR {
			// CUE's address formats admit lists of bytes, too.
			kinds |= ListKind
		}
	}
	s := OfKinds(kinds)
	for i := range s {
		if s[i].Kind == StringKind {
			s[i].Strings.Formats = []Format{f}
		}
	}
	return s
}

// Unenforced returns the note that a demand of the CUE schema is not part of a
// shape or of the CRD that is written from it. At is the position of the demand
// in the schema, path the field of the instance, and what the subject of the
// sentence.
func Unenforced(at problem.Position, path, what string) problem.Problem {
	return problem.Problem{
		Severity: problem.Note, Rule: problem.RuleModule,
		Position: at, Path: path, Message: what + " is enforced when rendering, not by the CRD",
	}
}

// Rule is a constraint of a struct that is about several of its fields.
type Rule struct {
	// Text is a CEL expression in which [SelfMark] stands for the struct. See
	// [Rule.For].
	Text string
	// Message tells the user of an instance what the rule demands.
	Message string
	// Field is the path of the field to blame, in the API server's notation. It
	// may be empty.
	Field string
	// Exact reports that the rule rejects every value that CUE rejects for the
	// same reason.
	Exact bool
	// Fields are the names of the struct's fields that the rule reads.
	Fields []string
	// Defaulted limits Exact: it holds only if the CRD has the defaults of the
	// fields that the rule reads.
	Defaulted bool
	// Notes are reported if the rule can't be written, or isn't exact.
	Notes []problem.Problem
}

// SelfMark stands for the struct in the text of a rule. No CEL expression can
// contain it.
const SelfMark = "\x00"

// For returns the rule as a CEL expression about v.
func (r Rule) For(v string) string { return strings.ReplaceAll(r.Text, SelfMark, v) }

// equal ignores messages and notes.
func (r Rule) equal(s Rule) bool { return r.Text == s.Text && r.Exact == s.Exact }
