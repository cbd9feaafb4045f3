package crdgen

import (
	"regexp"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// scalars adds what s says about bools, numbers and strings to out, whose type
// admits all kinds of s. Where these are several, each constraint is one that
// leaves values of the other kinds alone, as minimum and pattern do and enum
// does not. It reports whether out now says all of it.
func (w writer) scalars(out *props, s shape, nullable bool, p place) bool {
	kinds := kindsOf(s)
	if enum, ok := enumOf(s); ok {
		if nullable {
			enum = append(enum, apiextensionsv1.JSON{Raw: []byte("null")})
		}
		out.Enum = enum
		return true
	}
	exact := true
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
				w.notes.add(p.pos, p.path, "that a bool is %s", terms[0].value.json)
				exact = false
			}
		default:
			if kindsOf(terms) == cue.NumberKind && slices.ContainsFunc(terms, func(t term) bool { return t.kind == cue.IntKind && t.value == nil }) {
				w.notes.add(p.pos, p.path, "which numbers are ints")
				exact = false
			}
			if slices.ContainsFunc(terms, hasUnsafeLimit) {
				w.notes.add(p.pos, p.path, "the bound of integers beyond 2^53")
				exact = false
			}
			conjoin(out, oneOf(terms, isMixed(kinds) || nullable))
		}
	}
	return exact
}

// enumOf is s as an enumeration, if it is one.
func enumOf(s shape) ([]apiextensionsv1.JSON, bool) {
	var enum []apiextensionsv1.JSON
	for _, t := range s {
		if t.value == nil {
			return nil, false
		}
		enum = append(enum, apiextensionsv1.JSON{Raw: t.value.json})
	}
	return enum, len(enum) > 0
}

// oneOf is the constraints of terms of the same kind, any of which is enough.
func oneOf(terms shape, guarded bool) props {
	var members []props
	var enum shape
	for _, t := range terms {
		switch c := constraints(t); {
		case t.value != nil:
			enum = append(enum, t)
		case isUnconstrained(t):
			return props{}
		default:
			members = append(members, c)
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
			words = append(words, regexp.QuoteMeta(*t.value.string))
			continue
		}
		at := &limit{at: t.value.number}
		out = append(out, constraints(term{kind: t.kind, num: numbers{min: at, max: at}}))
	}
	if len(words) > 0 {
		out = append(out, props{Pattern: "^(?:" + strings.Join(words, "|") + ")$"})
	}
	return out
}

func isUnconstrained(t term) bool {
	return t.equal(term{kind: t.kind})
}

// hasUnsafeLimit says whether constraints leaves out a limit of t that matters.
func hasUnsafeLimit(t term) bool {
	missing := func(l *limit, upper bool) bool {
		return l != nil && !l.isSafe() && !l.isImplied(upper)
	}
	return t.kind == cue.IntKind && (missing(t.num.min, false) || missing(t.num.max, true))
}

// constraints writes what t says besides its kind.
func constraints(t term) props {
	var out props
	if n := t.num.min; n != nil && (t.kind != cue.IntKind || n.isSafe()) {
		at := n.float()
		out.Minimum, out.ExclusiveMinimum = &at, n.exclusive
	}
	if n := t.num.max; n != nil && (t.kind != cue.IntKind || n.isSafe()) {
		at := n.float()
		out.Maximum, out.ExclusiveMaximum = &at, n.exclusive
	}
	for _, m := range t.num.multiples {
		if at, exact := m.Float64(); exact {
			conjoin(&out, props{MultipleOf: &at})
		}
	}
	out.MinLength, out.MaxLength = t.str.min, t.str.max
	for _, p := range t.str.patterns {
		conjoin(&out, props{Pattern: p})
	}
	for _, p := range t.str.notPatterns {
		conjoin(&out, props{Not: &props{Pattern: p}})
	}
	var not []apiextensionsv1.JSON
	for _, l := range slices.Concat(t.num.not, t.str.not) {
		not = append(not, apiextensionsv1.JSON{Raw: l.json})
	}
	if not != nil {
		conjoin(&out, props{Not: &props{Enum: not}})
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
