package cel

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pequod-io/pequod/internal/schema/shape"
)

// predicate says in CEL that a value is in a shape. It holds for every value in
// the shape; it is exact if it holds for no other that the schema lets in.
type Predicate struct {
	// text is a CEL expression; the empty text is true.
	Text  string
	Exact bool
	// fallible says that what isn't in the shape may be an error instead of
	// false. The API server rejects either, but there is no else to an error.
	fallible bool
}

func Never() Predicate { return Predicate{Text: "false", Exact: true} }

func Always() Predicate { return Predicate{Exact: true} }

// unknown is the predicate of what CEL can't say.
func Unknown() Predicate { return Predicate{} }

// allOf holds where all of the predicates hold.
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

// anyOf holds where one of the predicates holds.
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

// implies holds where q holds or condition doesn't.
func Implies(condition string, q Predicate) Predicate {
	if q.Text == "" || condition == "" {
		return q
	}
	return Predicate{Text: Join([]string{Negated(condition), q.Text}, " || "), Exact: q.Exact, fallible: q.fallible}
}

func Negated(text string) string {
	if strings.HasPrefix(text, "!") && !hasOperator(text, " ") {
		return text[1:]
	}
	return "!" + Wrap(text)
}

// join puts " && " or " || " between texts.
func Join(texts []string, operator string) string {
	if len(texts) == 1 {
		return texts[0]
	}
	// A reader shouldn't have to know which of the two binds tighter.
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

// wrap puts parentheses around what isn't a single term.
func Wrap(text string) string {
	if hasOperator(text, " ") {
		return "(" + text + ")"
	}
	return text
}

// hasOperator says whether one of the operators stands in text outside of
// parentheses and strings.
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

// holds is the predicate that v, an expression for a value that the schema
// declares as declared, is in s.
func Holds(s, declared shape.Shape, v string) Predicate {
	if s.Equal(declared) {
		return Always()
	}
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
	var members []Predicate
	for _, group := range []shape.Kind{shape.BoolKind, shape.NumberKind, shape.StringKind, shape.ListKind, shape.StructKind} {
		var terms, known shape.Shape
		for _, t := range rest {
			if t.Kind == shape.TopKind {
				return AllOf(HoldsTerm(t, shape.Shape{{Kind: shape.TopKind}}, declared, v))
			}
			if t.Kind&group != 0 {
				terms = append(terms, t)
			}
		}
		for _, t := range all {
			if t.Kind&group != 0 {
				known = append(known, t)
			}
		}
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
	case nullable && len(shape.ChecksOf(s)) > len(shape.ChecksOf(rest)):
		// The API server tries no rule on null.
		p = AnyOf(Predicate{Text: "dyn(" + v + ") == null", Exact: true}, p)
		p.Exact = false
		return p
	case nullable:
		return AnyOf(Predicate{Text: "dyn(" + v + ") == null", Exact: true}, p)
	default:
		return AllOf(Predicate{Text: "dyn(" + v + ") != null", Exact: true}, p)
	}
}

// holdsUnlessNull is like holds for a field that is there and not null.
func HoldsUnlessNull(s, declared shape.Shape, v string) Predicate {
	s, _ = shape.WithoutNull(s)
	declared, _ = shape.WithoutNull(declared)
	return Holds(s, declared, v)
}

// isAccessible says whether CEL has a type for values that the schema declares
// as s: nothing of unspecified type is visible to it.
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

// holds is the predicate for one term among the declared terms of the same kind,
// which are some of all.
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

// narrows is what t says beyond its kind.
func narrows(t shape.Term, declared shape.Shape, v string) Predicate {
	switch t.Kind {
	case shape.BoolKind:
		if t.Value != nil {
			return Predicate{Text: v + " == " + string(t.Value.Json), Exact: true}
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

// variable is the name of a macro's variable that doesn't occur in v.
func Variable(v string) string {
	for _, name := range []string{"x", "y", "z", "u", "w"} {
		if !containsName(v, name) {
			return name
		}
	}
	return "x" + strconv.Itoa(len(v))
}

func containsName(v, name string) bool {
	return slices.Contains(strings.FieldsFunc(v, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}), name)
}

// fieldPath is a path as the API server takes it for the field to blame. It is
// empty for names that would have to be escaped.
func FieldPath(path []string) string {
	out := ""
	for _, name := range path {
		if name == "" || strings.ContainsFunc(name, func(r rune) bool {
			return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
		}) {
			return ""
		}
		out += "." + name
	}
	return out
}
