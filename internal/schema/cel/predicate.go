package cel

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/pequod-io/pequod/internal/schema/shape"
)

// Predicate is a condition in CEL that every value in a shape satisfies. A
// predicate that were false for such a value would reject a valid instance, so
// none may be. A predicate that also holds for other values is inexact and costs
// only a note. The zero value is [Unknown].
type Predicate struct {
	// Text is a CEL expression. The empty text means true.
	Text string
	// Exact means that the predicate is false for every other value that the
	// schema admits.
	Exact bool
	// fallible means that the expression may fail, rather than be false, for a
	// value outside the shape. An API server rejects the value in both cases,
	// but a failing expression can't be negated.
	fallible bool
}

// Never returns the predicate that is always false.
func Never() Predicate { return Predicate{Text: "false", Exact: true} }

// Always returns the predicate that is always true.
func Always() Predicate { return Predicate{Exact: true} }

// Unknown returns the predicate for what CEL can't express: true, and not
// exact.
func Unknown() Predicate { return Predicate{} }

// AllOf returns the conjunction of the predicates. It is exact if all of them
// are, or if one of them is always false. It drops repetitions and predicates
// that are always true.
func AllOf(all ...Predicate) Predicate {
	out := Always()
	var texts []string
	for _, p := range all {
		out.Exact = out.Exact && p.Exact
		out.fallible = out.fallible || p.fallible
		if p.Text == "false" {
			return Never()
		}
		if p.Text != "" && !slices.Contains(texts, p.Text) {
			texts = append(texts, p.Text)
		}
	}
	out.Text = Join(texts, " && ")
	return out
}

// AnyOf returns the disjunction of the predicates. It is always true if one of
// them is. Otherwise it is exact if all of them are.
func AnyOf(all ...Predicate) Predicate {
	out := Always()
	var texts []string
	for _, p := range all {
		if p.Text == "" {
			return p
		}
		out.Exact = out.Exact && p.Exact
		out.fallible = out.fallible || p.fallible
		if p.Text != "false" && !slices.Contains(texts, p.Text) {
			texts = append(texts, p.Text)
		}
	}
	if len(texts) == 0 {
		return Predicate{Text: "false", Exact: out.Exact}
	}
	out.Text = Join(texts, " || ")
	return out
}

// Implies returns the predicate that q holds or condition, a CEL expression,
// doesn't.
func Implies(condition string, q Predicate) Predicate {
	if q.Text == "" || condition == "" {
		return q
	}
	return Predicate{Text: Join([]string{Negated(condition), q.Text}, " || "), Exact: q.Exact, fallible: q.fallible}
}

// Negated returns the negation of a CEL expression. It removes a leading ! rather
// than adding a second one.
func Negated(text string) string {
	if strings.HasPrefix(text, "!") && !hasOperator(text, " ") {
		return text[1:]
	}
	return "!" + Wrap(text)
}

// Join joins texts with " && " or " || ".
func Join(texts []string, operator string) string {
	if len(texts) == 1 {
		return texts[0]
	}
	// Parentheses spare the reader the precedence of && and ||.
	other := " && "
	if operator == other {
		other = " || "
	}
	for i, text := range texts {
		if hasOperator(text, other, " ? ") {
			texts[i] = "(" + text + ")"
		}
	}
	return strings.Join(texts, operator)
}

// Wrap puts parentheses around an expression that isn't a single term.
func Wrap(text string) string {
	if hasOperator(text, " ") {
		return "(" + text + ")"
	}
	return text
}

// hasOperator reports whether text has one of the operators outside of
// parentheses and strings. It scans the text instead of parsing it, because it is
// called for every conjunction. Raw strings such as r'\d' have no escapes.
func hasOperator(text string, operators ...string) bool {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case '\'', '"':
			raw := i > 0 && text[i-1] == 'r' && (i == 1 || strings.ContainsRune("(, !", rune(text[i-2])))
			for i++; i < len(text) && text[i] != c; i++ {
				if text[i] == '\\' && !raw {
					i++
				}
			}
		default:
			if depth == 0 && slices.ContainsFunc(operators, func(o string) bool { return strings.HasPrefix(text[i:], o) }) {
				return true
			}
		}
	}
	return false
}

// Holds returns the predicate that v is in s. V is a CEL expression for a value
// that the OpenAPI schema declares as declared, which must contain s. The terms
// of s are grouped by kind. If the schema admits several kinds, each group is
// guarded by a test of the type, such as type(v) == string. The groups are
// alternatives, and so are the terms within a group.
func Holds(s, declared shape.Shape, v string) Predicate {
	if s.Equal(declared) {
		return Always()
	}
	// No schema declares checks, so they are not known to hold.
	declared = shape.WithoutChecks(declared)
	if len(s) == 0 {
		return Never()
	}
	if !IsAccessible(declared) {
		return Unknown()
	}
	rest, nullable := shape.WithoutNull(s)
	all, mayBeNull := shape.WithoutNull(declared)
	mixed := shape.IsMixed(shape.KindsOf(all))
	for _, t := range rest {
		if t.Kind == shape.TopKind {
			// A term of any kind has only checks to test.
			return HoldsTerm(t, shape.Any(), declared, v)
		}
	}
	var members []Predicate
	for _, group := range shape.JSONKinds() {
		terms, known := rest.Only(group), all.Only(group)
		if len(terms) == 0 || len(known) == 0 {
			continue
		}
		var own []Predicate
		for _, t := range terms {
			own = append(own, HoldsTerm(t, known, declared, v))
		}
		p := AnyOf(own...)
		if mixed {
			p = AllOf(Predicate{Text: "type(" + v + ") == " + celType(group), Exact: true}, p)
		}
		members = append(members, p)
	}
	p := AnyOf(members...)
	switch {
	case !mayBeNull:
		return p
	case nullable:
		// An API server evaluates no rule of a field that is null, so checks of
		// null are lost.
		p = AnyOf(Predicate{Text: "dyn(" + v + ") == null", Exact: true}, p)
		p.Exact = p.Exact && len(shape.ChecksOf(s)) == len(shape.ChecksOf(rest))
		return p
	default:
		return AllOf(Predicate{Text: "dyn(" + v + ") != null", Exact: true}, p)
	}
}

// HoldsUnlessNull is like [Holds] for a value that is present and not null.
func HoldsUnlessNull(s, declared shape.Shape, v string) Predicate {
	s, _ = shape.WithoutNull(s)
	declared, _ = shape.WithoutNull(declared)
	return Holds(s, declared, v)
}

// IsAccessible reports whether CEL can read values that the schema declares as
// s. A value without a type is invisible to CEL.
func IsAccessible(s shape.Shape) bool {
	s, _ = shape.WithoutNull(s)
	kinds := shape.KindsOf(s)
	switch {
	case len(s) == 0 || kinds&shape.TopKind == shape.TopKind:
		return false
	case kinds == shape.ListKind:
		return IsAccessible(shape.EnvelopeOfLists(s).Items)
	case kinds == shape.StructKind:
		o := shape.DeclaredObject(s)
		return o.Values == nil || len(o.Fields) > 0 || IsAccessible(o.Values)
	}
	return !shape.IsMixed(kinds) || kinds == shape.IntKind|shape.StringKind
}

// HoldsTerm returns the predicate for one term. Declared are the declared terms
// of the same kind, all those of every kind. The checks of the term are demands
// of their own.
func HoldsTerm(t shape.Term, declared, all shape.Shape, v string) Predicate {
	var checks []Predicate
	for _, c := range t.Checks {
		checks = append(checks, holdsCheck(c, all, v))
	}
	t.Checks = nil
	if len(declared) == 1 && t.Equal(declared[0]) {
		return AllOf(checks...)
	}
	return AllOf(append([]Predicate{narrows(t, declared, v)}, checks...)...)
}

// narrows returns the predicate for the constraints of t, apart from its kind.
// For a scalar it may repeat a constraint that the schema expresses, too.
func narrows(t shape.Term, declared shape.Shape, v string) Predicate {
	switch t.Kind {
	case shape.BoolKind:
		if t.Value != nil {
			return Predicate{Text: v + " == " + string(t.Value.JSON), Exact: true}
		}
	case shape.IntKind, shape.NumberKind:
		return holdsNumber(t, shape.KindsOf(declared)&shape.FloatKind != 0, v)
	case shape.StringKind:
		return holdsString(t, v)
	case shape.ListKind:
		return HoldsList(t.List, shape.EnvelopeOfLists(declared), v)
	case shape.StructKind:
		return holdsObject(t.Object, shape.DeclaredObject(declared), v)
	}
	return Always()
}

// countTrue returns a CEL expression for the number of texts that are true. x is
// the variable of its macro; none of the texts may contain it, except as the name
// of a field.
func countTrue(texts []string, x string) string {
	if len(texts) == 0 {
		return "0"
	}
	return "[" + strings.Join(texts, ", ") + "].filter(" + x + ", " + x + ").size()"
}

// orTrue returns the text of the predicate as an operand: true instead of the
// empty text.
func (p Predicate) orTrue() string { return cmp.Or(p.Text, "true") }

// Variable returns a name for a macro's variable that doesn't occur in the
// expression v. Nested macros need different names, because the inner one would
// hide the outer.
func Variable(v string) string {
	for _, name := range []string{"x", "y", "z", "u", "w"} {
		if !containsName(v, name) {
			return name
		}
	}
	return "x" + strconv.Itoa(len(v))
}

// containsName reports whether the identifier name occurs in v.
func containsName(v, name string) bool {
	return slices.Contains(strings.FieldsFunc(v, isNoName), name)
}

// isNoName reports whether r can't be part of an identifier.
func isNoName(r rune) bool {
	return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
}

// FieldPath writes a path in the notation of x-kubernetes-validations' fieldPath.
// It is empty if a name would need escaping. The API server points its message at
// that field. For spec.replicas it is .spec.replicas.
func FieldPath(path []string) string {
	out := ""
	for _, name := range path {
		if name == "" || strings.ContainsFunc(name, isNoName) {
			return ""
		}
		out += "." + name
	}
	return out
}
