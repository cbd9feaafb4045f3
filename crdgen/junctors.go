package crdgen

import (
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/pequod-io/pequod/internal/schema/shape"
)

// junctorsOf writes the checks of s with oneOf, anyOf, allOf and not. It reports
// false if a schema can't express all of them. For {a?: int, b?: int} & matchN(1,
// [{a!: _}, {b!: _}]) it returns oneOf with the members {required: [a]} and
// {required: [b]}.
func junctorsOf(s shape.Shape) (props, bool) {
	var out props
	if len(s) != 1 {
		return out, false
	}
	for _, c := range shape.ChecksOf(s) {
		own, ok := junctorOf(c, s)
		if !ok {
			return out, false
		}
		conjoin(&out, own)
	}
	return out, true
}

// junctorOf writes one check of a value in declared.
func junctorOf(c shape.Check, declared shape.Shape) (props, bool) {
	var members []props
	for _, s := range c.Shapes {
		m, ok := matched(s, declared)
		if c.Branch || !ok {
			return props{}, false
		}
		members = append(members, m)
	}
	admits := func(n int) bool { return c.Count.Admits(shape.Literal{Number: big.NewRat(int64(n), 1)}) }
	var counts []int
	for n := range len(members) + 1 {
		if admits(n) {
			counts = append(counts, n)
		}
	}
	switch all := len(members); {
	case slices.Equal(counts, []int{1}):
		return props{OneOf: members}, true
	case slices.Equal(counts, []int{0}):
		return props{Not: &props{AnyOf: members}}, true
	case slices.Equal(counts, []int{all}):
		return props{AllOf: members}, true
	case len(counts) == all && !admits(0):
		return props{AnyOf: members}, true
	}
	return props{}, false
}

// matched writes what distinguishes the values in s from the others in declared.
// It reports false if that is not all that s says. Structs must be open and name
// declared fields, and rendering must leave these fields as they are.
func matched(s, declared shape.Shape) (props, bool) {
	var out props
	if len(s) != 1 || s[0].Kind != shape.StructKind || shape.KindsOf(declared) != shape.StructKind {
		return out, false
	}
	o, sum := s[0].Object, declared[0].Object
	if !o.Open || o.Values != nil || o.Min != nil || o.Max != nil || len(o.Patterns)+len(o.Rules)+len(s[0].Checks) > 0 {
		return out, false
	}
	for _, f := range o.Fields {
		g := sum.Lookup(f.Name)
		if g == nil || !g.Optional && !g.Required || g.GuardFills || g.Guarded || shape.IsNullable(g.Shape) {
			return out, false
		}
		if f.Required {
			out.Required = append(out.Required, f.Name)
		}
		if f.Shape.IsAnything() || f.Shape.Equal(g.Shape) {
			continue
		}
		inner, ok := narrowed(f.Shape, g.Shape)
		if !ok {
			return out, false
		}
		if out.Properties == nil {
			out.Properties = map[string]props{}
		}
		out.Properties[f.Name] = inner
	}
	return out, !isEmpty(out)
}

// hasChoice reports whether p has an anyOf.
func hasChoice(p props) bool { return len(p.AnyOf) > 0 || slices.ContainsFunc(p.AllOf, hasChoice) }

// alternativesOf describes the scalars in s for a message, such as int & >=1 &
// <=3 or "max".
func alternativesOf(s shape.Shape) string {
	var parts []string
	for _, t := range s {
		parts = append(parts, scalarText(t))
	}
	return strings.Join(parts, " or ")
}

// scalarText describes a scalar term in CUE syntax.
func scalarText(t shape.Term) string {
	if t.Value != nil {
		return string(t.Value.JSON)
	}
	var parts []string
	bound := func(operator string, l *shape.Limit) {
		if l == nil {
			return
		}
		if !l.Exclusive {
			operator += "="
		}
		at := l.At.RatString()
		if !l.At.IsInt() {
			at = strconv.FormatFloat(l.Float(), 'g', -1, 64)
		}
		parts = append(parts, operator+at)
	}
	bound(">", t.Numbers.Min)
	bound("<", t.Numbers.Max)
	for _, m := range t.Numbers.Multiples {
		parts = append(parts, "a multiple of "+m.RatString())
	}
	for _, l := range slices.Concat(t.Numbers.Not, t.Strings.Not) {
		parts = append(parts, "!="+string(l.JSON))
	}
	if n := t.Strings.Min; n != nil {
		parts = append(parts, "at least "+strconv.FormatInt(*n, 10)+" characters")
	}
	if n := t.Strings.Max; n != nil {
		parts = append(parts, "at most "+strconv.FormatInt(*n, 10)+" characters")
	}
	for _, p := range t.Strings.Patterns {
		parts = append(parts, "=~"+strconv.Quote(p))
	}
	for _, p := range t.Strings.NotPatterns {
		parts = append(parts, "!~"+strconv.Quote(p))
	}
	for _, f := range t.Strings.Formats {
		parts = append(parts, string(f))
	}
	if len(parts) == 0 || t.Kind == shape.IntKind {
		parts = slices.Insert(parts, 0, map[shape.Kind]string{shape.IntKind: "int", shape.NumberKind: "number", shape.StringKind: "string", shape.BoolKind: "bool", shape.NullKind: "null"}[t.Kind])
	}
	return strings.Join(parts, " & ")
}
