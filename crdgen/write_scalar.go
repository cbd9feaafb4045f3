package crdgen

import (
	"math/big"
	"regexp"
	"slices"
	"strings"

	"github.com/pequod-io/pequod/internal/schema/shape"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// scalars adds the constraints of s on bools, numbers and strings to out. The
// type of out admits all kinds of s, and null if nullable. It returns what it
// had to leave out, as subjects of notes.
//
// If more than one kind is admitted, or null, each constraint must admit the
// others, as minimum and pattern do. The API server's enum doesn't: it rejects
// null even if it lists it, and it takes 1.5 for 1 and 97 for "a".
func scalars(out *props, s shape.Shape, nullable bool) (unsaid []string) {
	kinds := shape.KindsOf(s)
	if enum, ok := enumOf(s); ok && !nullable {
		out.Enum = enum
		return nil
	}
	guarded := nullable || shape.IsMixed(kinds)
	for _, group := range []shape.Kind{shape.BoolKind, shape.NumberKind, shape.StringKind} {
		terms := s.Only(group)
		switch {
		case len(terms) == 0:
		case group == shape.BoolKind:
			if len(terms) == 1 && terms[0].Value != nil {
				// No value of another kind equals a bool.
				other := "true"
				if string(terms[0].Value.JSON) == other {
					other = "false"
				}
				conjoin(out, props{Not: &props{Enum: []apiextensionsv1.JSON{{Raw: []byte(other)}}}})
			}
		default:
			unsaid = append(unsaid, inexpressible(terms)...)
			conjoin(out, oneOf(terms, guarded || shape.KindsOf(terms)&shape.FloatKind != 0))
		}
	}
	return unsaid
}

// enumOf returns s as an enumeration. It reports false if s is none, or if an API
// server would compare the values wrongly. An enum with 1 would also admit 1.0,
// so it can't tell an int from a float.
func enumOf(s shape.Shape) ([]apiextensionsv1.JSON, bool) {
	var enum []apiextensionsv1.JSON
	for _, t := range s {
		if t.Value == nil || t.Kind == shape.IntKind && shape.KindsOf(s)&shape.FloatKind != 0 {
			return nil, false
		}
		enum = append(enum, apiextensionsv1.JSON{Raw: t.Value.JSON})
	}
	return enum, len(enum) > 0
}

// inexpressible returns what [oneOf] leaves out. Limits beyond 2^53 are left out
// because the API server reads limits as floats.
func inexpressible(terms shape.Shape) []string {
	var out []string
	ints := 0
	for _, t := range terms {
		unsafe := func(l *shape.Limit, upper bool) bool {
			return l != nil && !l.IsSafe() && !(t.Kind == shape.IntKind && l.AdmitsAllInts(upper)) && !l.AdmitsAllFloats(upper)
		}
		if unsafe(t.Numbers.Min, false) || unsafe(t.Numbers.Max, true) {
			out = append(out, "the bound beyond 2^53")
		}
		for _, l := range t.Numbers.Not {
			if !(&shape.Limit{At: l.Number}).IsSafe() {
				out = append(out, "!="+string(l.JSON))
			}
		}
		if t.Value != nil && t.Value.Number != nil && !(&shape.Limit{At: t.Value.Number}).IsSafe() {
			out = append(out, string(t.Value.JSON))
		}
		for _, f := range t.Strings.Formats {
			if !f.IsExact() {
				out = append(out, string(f))
			}
		}
		for _, m := range t.Numbers.Multiples {
			if !isMultiple(t, m) {
				out = append(out, "math.MultipleOf("+m.RatString()+")")
			}
		}
		if t.Kind == shape.IntKind && t.Value == nil {
			ints++
		}
	}
	if ints > 0 && shape.KindsOf(terms)&shape.FloatKind != 0 {
		out = append(out, "which numbers are ints")
	}
	return out
}

// isMultiple reports whether the API server computes multiples of m as CUE
// does. It divides floats, with rounding errors.
func isMultiple(t shape.Term, m *big.Rat) bool {
	return t.Kind == shape.IntKind && m.IsInt() && (&shape.Limit{At: m}).IsSafe()
}

// oneOf returns the constraints of terms of one kind; a value must satisfy one of
// them. Guarded constraints admit all values of other kinds. For int & >=1 & <=3
// | 10 it returns an anyOf with the limits and an enum.
func oneOf(terms shape.Shape, guarded bool) props {
	var members []props
	var enum shape.Shape
	for _, t := range terms {
		switch {
		case t.Value != nil:
			enum = append(enum, t)
		case isUnconstrained(t):
			return props{}
		default:
			members = append(members, constraints(t, guarded))
		}
	}
	switch {
	case len(enum) == 0:
	case !guarded:
		values, _ := enumOf(enum)
		members = append(members, props{Enum: values})
	default:
		members = append(members, guardedEnum(enum)...)
	}
	if len(members) == 1 {
		return members[0]
	}
	return props{AnyOf: members}
}

// guardedEnum returns an enumeration of numbers or strings that admits all values
// of other kinds. A number n is written as minimum n and maximum n, and strings
// as one pattern.
func guardedEnum(enum shape.Shape) []props {
	var out []props
	var words []string
	for _, t := range enum {
		if t.Value.String != nil {
			words = append(words, *t.Value.String)
			continue
		}
		at := &shape.Limit{At: t.Value.Number}
		out = append(out, constraints(shape.Term{Kind: t.Kind, Numbers: shape.Numbers{Min: at, Max: at}}, true))
	}
	if len(words) > 0 {
		out = append(out, props{Pattern: anyOfWords(words)})
	}
	return out
}

// anyOfWords returns a regular expression that matches exactly the words. For a
// and b.c it is ^(?:a|b\.c)$.
func anyOfWords(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = regexp.QuoteMeta(w)
	}
	return "^(?:" + strings.Join(quoted, "|") + ")$"
}

// isUnconstrained reports whether t admits all values of its kind. One such term
// makes the other terms of the kind redundant.
func isUnconstrained(t shape.Term) bool {
	return t.Equal(shape.Term{Kind: t.Kind})
}

// constraints returns the constraints of t, apart from its kind, as far as a
// schema can express them.
func constraints(t shape.Term, guarded bool) props {
	var out props
	if n := t.Numbers.Min; n != nil && n.IsSafe() {
		at := n.Float()
		out.Minimum, out.ExclusiveMinimum = &at, n.Exclusive
	}
	if n := t.Numbers.Max; n != nil && n.IsSafe() {
		at := n.Float()
		out.Maximum, out.ExclusiveMaximum = &at, n.Exclusive
	}
	for _, m := range t.Numbers.Multiples {
		if at, _ := m.Float64(); isMultiple(t, m) {
			conjoin(&out, props{MultipleOf: &at})
		}
	}
	for _, l := range t.Numbers.Not {
		at, _ := l.Number.Float64()
		if !(&shape.Limit{At: l.Number}).IsSafe() {
			continue
		}
		conjoin(&out, props{AnyOf: []props{{Maximum: &at, ExclusiveMaximum: true}, {Minimum: &at, ExclusiveMinimum: true}}})
	}
	out.MinLength, out.MaxLength = t.Strings.Min, t.Strings.Max
	for _, p := range t.Strings.Patterns {
		conjoin(&out, props{Pattern: p})
	}
	for _, f := range t.Strings.Formats {
		conjoin(&out, props{Pattern: f.Pattern()})
	}
	not := slices.Clone(t.Strings.NotPatterns)
	if words := t.Strings.Not; len(words) > 0 {
		var texts []string
		for _, l := range words {
			texts = append(texts, *l.String)
		}
		not = append(not, anyOfWords(texts))
	}
	for _, p := range not {
		c := props{Not: &props{Pattern: p}}
		if guarded {
			// A value that isn't a string satisfies every pattern and length,
			// so a negated pattern would reject it.
			c = props{AnyOf: []props{c, {MinLength: new(int64(1)), MaxLength: new(int64(0))}}}
		}
		conjoin(&out, c)
	}
	return out
}

// narrowed writes what s demands beyond sum, without a type, which is not allowed
// in anyOf. It reports whether that is all. Structs and lists can't be narrowed
// this way; a rule must distinguish them.
func narrowed(s, sum shape.Shape) (props, bool) {
	var out props
	rest, nullable := shape.WithoutNull(s)
	all, sumNullable := shape.WithoutNull(sum)
	kinds, sumKinds := shape.KindsOf(rest), shape.KindsOf(all)
	if kinds&(shape.ListKind|shape.StructKind) != 0 || kinds == shape.BottomKind || kinds&shape.TopKind == shape.TopKind {
		return out, false
	}
	if sumKinds&shape.TopKind == shape.TopKind {
		sumKinds = jsonKinds
	}
	others := excluding(sumKinds, kinds)
	if enum, ok := enumOf(rest); ok && !nullable && len(others) == 0 && (kinds&shape.IntKind == 0 || sumKinds&shape.FloatKind == 0) {
		out.Enum = enum
		return out, true
	}
	if len(others) > 0 {
		// The constraints of one kind must admit the other kinds, which have
		// constraints of their own.
		rest = append(slices.Clone(rest), shape.OfKinds(sumKinds&^kinds&(shape.BoolKind|shape.NumberKind|shape.StringKind))...)
		if kinds&shape.NumberKind == shape.IntKind {
			rest = slices.DeleteFunc(rest, func(t shape.Term) bool { return t.Equal(shape.Term{Kind: shape.NumberKind}) })
		}
	}
	unsaid := scalars(&out, rest, nullable || sumNullable)
	out.AllOf = append(out.AllOf, others...)
	return out, len(unsaid) == 0 && nullable == sumNullable
}
