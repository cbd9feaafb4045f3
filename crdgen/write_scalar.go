package crdgen

import (
	"math/big"
	"regexp"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// scalars adds what s says about bools, numbers and strings to out, whose type
// admits all kinds of s, and null if nullable. It lists what it had to leave out.
//
// Where more than one kind is admitted, or null, each constraint must leave the
// others alone, as minimum and pattern do. The API server's enum doesn't: it
// rejects null even if it lists it, and it takes 1.5 for a 1 and 97 for an "a".
func (w writer) scalars(out *props, s shape, nullable bool) (unsaid []string) {
	kinds := kindsOf(s)
	if enum, ok := enumOf(s); ok && !nullable {
		out.Enum = enum
		return nil
	}
	guarded := nullable || isMixed(kinds)
	for _, group := range []cue.Kind{cue.BoolKind, cue.NumberKind, cue.StringKind} {
		terms := shape{}
		for _, t := range s {
			if t.kind&group != 0 {
				terms = append(terms, t)
			}
		}
		switch {
		case len(terms) == 0:
		case group == cue.BoolKind:
			if len(terms) == 1 && terms[0].value != nil {
				// No other kind of value equals a bool.
				other := "true"
				if string(terms[0].value.json) == other {
					other = "false"
				}
				conjoin(out, props{Not: &props{Enum: []apiextensionsv1.JSON{{Raw: []byte(other)}}}})
			}
		default:
			unsaid = append(unsaid, inexpressible(terms)...)
			conjoin(out, oneOf(terms, guarded || kindsOf(terms)&cue.FloatKind != 0))
		}
	}
	return unsaid
}

// enumOf is s as an enumeration, if it is one that the API server reads right.
func enumOf(s shape) ([]apiextensionsv1.JSON, bool) {
	var enum []apiextensionsv1.JSON
	for _, t := range s {
		if t.value == nil || t.kind == cue.IntKind && kindsOf(s)&cue.FloatKind != 0 {
			return nil, false
		}
		enum = append(enum, apiextensionsv1.JSON{Raw: t.value.json})
	}
	return enum, len(enum) > 0
}

// inexpressible lists what oneOf leaves out.
func inexpressible(terms shape) []string {
	var out []string
	ints := 0
	for _, t := range terms {
		unsafe := func(l *limit, upper bool) bool {
			return l != nil && !l.isSafe() && !(t.kind == cue.IntKind && l.isImplied(upper)) && !l.isEndless(upper)
		}
		if unsafe(t.num.min, false) || unsafe(t.num.max, true) {
			out = append(out, "the bound beyond 2^53")
		}
		for _, l := range t.num.not {
			if !(&limit{at: l.number}).isSafe() {
				out = append(out, "!="+string(l.json))
			}
		}
		if t.value != nil && t.value.number != nil && !(&limit{at: t.value.number}).isSafe() {
			out = append(out, string(t.value.json))
		}
		for _, f := range t.str.formats {
			out = append(out, string(f))
		}
		for _, m := range t.num.multiples {
			if !isMultiple(t, m) {
				out = append(out, "math.MultipleOf("+m.RatString()+")")
			}
		}
		if t.kind == cue.IntKind && t.value == nil {
			ints++
		}
	}
	if ints > 0 && kindsOf(terms)&cue.FloatKind != 0 {
		out = append(out, "which numbers are ints")
	}
	return out
}

// isMultiple says whether the API server computes multiples of m as CUE does: it
// divides floats with their rounding errors.
func isMultiple(t term, m *big.Rat) bool {
	return t.kind == cue.IntKind && m.IsInt() && (&limit{at: m}).isSafe()
}

// oneOf is the constraints of terms of the same kind, any of which is enough.
// Guarded constraints admit all values of other kinds.
func oneOf(terms shape, guarded bool) props {
	var members []props
	var enum shape
	for _, t := range terms {
		switch {
		case t.value != nil:
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

// guardedEnum is an enumeration of numbers or strings that admits all values of
// other kinds.
func guardedEnum(enum shape) []props {
	var out []props
	var words []string
	for _, t := range enum {
		if t.value.string != nil {
			words = append(words, *t.value.string)
			continue
		}
		at := &limit{at: t.value.number}
		out = append(out, constraints(term{kind: t.kind, num: numbers{min: at, max: at}}, true))
	}
	if len(words) > 0 {
		out = append(out, props{Pattern: anyOfWords(words)})
	}
	return out
}

// anyOfWords is the pattern that exactly the words match.
func anyOfWords(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = regexp.QuoteMeta(w)
	}
	return "^(?:" + strings.Join(quoted, "|") + ")$"
}

func isUnconstrained(t term) bool {
	return t.equal(term{kind: t.kind})
}

// constraints writes what t says besides its kind, as far as a schema can.
func constraints(t term, guarded bool) props {
	var out props
	if n := t.num.min; n != nil && n.isSafe() {
		at := n.float()
		out.Minimum, out.ExclusiveMinimum = &at, n.exclusive
	}
	if n := t.num.max; n != nil && n.isSafe() {
		at := n.float()
		out.Maximum, out.ExclusiveMaximum = &at, n.exclusive
	}
	for _, m := range t.num.multiples {
		if at, _ := m.Float64(); isMultiple(t, m) {
			conjoin(&out, props{MultipleOf: &at})
		}
	}
	for _, l := range t.num.not {
		at, _ := l.number.Float64()
		if !(&limit{at: l.number}).isSafe() {
			continue
		}
		conjoin(&out, props{AnyOf: []props{{Maximum: &at, ExclusiveMaximum: true}, {Minimum: &at, ExclusiveMinimum: true}}})
	}
	out.MinLength, out.MaxLength = t.str.min, t.str.max
	for _, p := range t.str.patterns {
		conjoin(&out, props{Pattern: p})
	}
	for _, f := range t.str.formats {
		conjoin(&out, props{Pattern: f.pattern()})
	}
	not := slices.Clone(t.str.notPatterns)
	if words := t.str.not; len(words) > 0 {
		var texts []string
		for _, l := range words {
			texts = append(texts, *l.string)
		}
		not = append(not, anyOfWords(texts))
	}
	for _, p := range not {
		c := props{Not: &props{Pattern: p}}
		if guarded {
			// What isn't a string matches every pattern and has every length.
			c = props{AnyOf: []props{c, {MinLength: ptr(1), MaxLength: ptr(0)}}}
		}
		conjoin(&out, c)
	}
	return out
}

// conjoin adds the constraints of c to out: in place where out has none of the
// sort, as a member of allOf otherwise.
func conjoin(out *props, c props) {
	var rest props
	move(&out.Minimum, &rest.Minimum, c.Minimum)
	move(&out.Maximum, &rest.Maximum, c.Maximum)
	out.ExclusiveMinimum = out.ExclusiveMinimum || c.ExclusiveMinimum && rest.Minimum == nil
	out.ExclusiveMaximum = out.ExclusiveMaximum || c.ExclusiveMaximum && rest.Maximum == nil
	rest.ExclusiveMinimum = c.ExclusiveMinimum && rest.Minimum != nil
	rest.ExclusiveMaximum = c.ExclusiveMaximum && rest.Maximum != nil
	move(&out.MultipleOf, &rest.MultipleOf, c.MultipleOf)
	move(&out.MinLength, &rest.MinLength, c.MinLength)
	move(&out.MaxLength, &rest.MaxLength, c.MaxLength)
	move(&out.Not, &rest.Not, c.Not)
	if out.Pattern == "" {
		out.Pattern = c.Pattern
	} else {
		rest.Pattern = c.Pattern
	}
	if out.Enum == nil {
		out.Enum = c.Enum
	} else {
		rest.Enum = c.Enum
	}
	if out.AnyOf == nil {
		out.AnyOf = c.AnyOf
	} else {
		rest.AnyOf = c.AnyOf
	}
	out.AllOf = append(out.AllOf, c.AllOf...)
	if !isEmpty(rest) {
		out.AllOf = append(out.AllOf, rest)
	}
}

// move puts value into out if that is empty, else into rest.
func move[T any](out, rest **T, value *T) {
	if *out == nil {
		*out = value
	} else {
		*rest = value
	}
}
