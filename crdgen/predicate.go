package crdgen

import (
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
)

// predicate says in CEL that a value is in a shape. It holds for every value in
// the shape; it is exact if it holds for no other that the schema lets in.
type predicate struct {
	// text is a CEL expression; the empty text is true.
	text  string
	exact bool
	// fallible says that what isn't in the shape may be an error instead of
	// false. The API server rejects either, but there is no else to an error.
	fallible bool
}

func never() predicate { return predicate{text: "false", exact: true} }

func always() predicate { return predicate{exact: true} }

// unknown is the predicate of what CEL can't say.
func unknown() predicate { return predicate{} }

// allOf holds where all of the predicates hold.
func allOf(all ...predicate) predicate {
	out := always()
	var texts []string
	for _, p := range all {
		out.exact = out.exact && p.exact
		out.fallible = out.fallible || p.fallible
		if p.text == "false" {
			return never()
		}
		if p.text != "" && !slices.Contains(texts, p.text) {
			texts = append(texts, p.text)
		}
	}
	out.text = join(texts, " && ")
	return out
}

// anyOf holds where one of the predicates holds.
func anyOf(all ...predicate) predicate {
	out := always()
	var texts []string
	for _, p := range all {
		if p.text == "" {
			return p
		}
		out.exact = out.exact && p.exact
		out.fallible = out.fallible || p.fallible
		if p.text != "false" && !slices.Contains(texts, p.text) {
			texts = append(texts, p.text)
		}
	}
	if len(texts) == 0 {
		return predicate{text: "false", exact: out.exact}
	}
	out.text = join(texts, " || ")
	return out
}

// implies holds where q holds or condition doesn't.
func implies(condition string, q predicate) predicate {
	if q.text == "" || condition == "" {
		return q
	}
	return predicate{text: join([]string{negated(condition), q.text}, " || "), exact: q.exact, fallible: q.fallible}
}

func negated(text string) string {
	if strings.HasPrefix(text, "!") && !hasOperator(text, " ") {
		return text[1:]
	}
	return "!" + wrap(text)
}

// join puts " && " or " || " between texts.
func join(texts []string, operator string) string {
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
func wrap(text string) string {
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
func holds(s, declared shape, v string) predicate {
	if s.equal(declared) {
		return always()
	}
	declared = unchecked(declared)
	if len(s) == 0 {
		return never()
	}
	if !isAccessible(declared) {
		return unknown()
	}
	rest, nullable := withoutNull(s)
	all, mayBeNull := withoutNull(declared)
	mixed := isMixed(kindsOf(all))
	var members []predicate
	for _, group := range []cue.Kind{cue.BoolKind, cue.NumberKind, cue.StringKind, cue.ListKind, cue.StructKind} {
		var terms, known shape
		for _, t := range rest {
			if t.kind == cue.TopKind {
				return allOf(t.holds(shape{{kind: cue.TopKind}}, declared, v))
			}
			if t.kind&group != 0 {
				terms = append(terms, t)
			}
		}
		for _, t := range all {
			if t.kind&group != 0 {
				known = append(known, t)
			}
		}
		if len(terms) == 0 || len(known) == 0 {
			continue
		}
		var own []predicate
		for _, t := range terms {
			own = append(own, t.holds(known, declared, v))
		}
		p := anyOf(own...)
		if mixed {
			p = allOf(predicate{text: "type(" + v + ") == " + celType(group), exact: true}, p)
		}
		members = append(members, p)
	}
	p := anyOf(members...)
	switch {
	case !mayBeNull:
		return p
	case nullable && len(checksOf(s)) > len(checksOf(rest)):
		// The API server tries no rule on null.
		p = anyOf(predicate{text: "dyn(" + v + ") == null", exact: true}, p)
		p.exact = false
		return p
	case nullable:
		return anyOf(predicate{text: "dyn(" + v + ") == null", exact: true}, p)
	default:
		return allOf(predicate{text: "dyn(" + v + ") != null", exact: true}, p)
	}
}

// holdsUnlessNull is like holds for a field that is there and not null.
func holdsUnlessNull(s, declared shape, v string) predicate {
	s, _ = withoutNull(s)
	declared, _ = withoutNull(declared)
	return holds(s, declared, v)
}

// isAccessible says whether CEL has a type for values that the schema declares
// as s: nothing of unspecified type is visible to it.
func isAccessible(s shape) bool {
	s, _ = withoutNull(s)
	kinds := kindsOf(s)
	switch {
	case len(s) == 0 || kinds&cue.TopKind == cue.TopKind:
		return false
	case kinds == cue.ListKind:
		return isAccessible(sumOfLists(s).items)
	case kinds == cue.StructKind:
		o := declaredObject(s)
		return o.values == nil || len(o.fields) > 0 || isAccessible(o.values)
	}
	return !isMixed(kinds) || kinds == cue.IntKind|cue.StringKind
}

// declaredObject is what the schema declares for structs.
func declaredObject(s shape) *object {
	if len(s) == 1 {
		return s[0].object
	}
	sum, _ := sumOf(s)
	return sum
}

// holds is the predicate for one term among the declared terms of the same kind,
// which are some of all.
func (t term) holds(declared, all shape, v string) predicate {
	var checks []predicate
	for _, c := range t.checks {
		checks = append(checks, c.holds(all, v))
	}
	t.checks = nil
	if len(declared) == 1 && t.equal(declared[0]) {
		return allOf(checks...)
	}
	return allOf(append([]predicate{t.narrows(declared, v)}, checks...)...)
}

// narrows is what t says beyond its kind.
func (t term) narrows(declared shape, v string) predicate {
	switch t.kind {
	case cue.BoolKind:
		if t.value != nil {
			return predicate{text: v + " == " + string(t.value.json), exact: true}
		}
	case cue.IntKind, cue.NumberKind:
		return t.holdsNumber(kindsOf(declared)&cue.FloatKind != 0, v)
	case cue.StringKind:
		return t.holdsString(v)
	case cue.ListKind:
		return t.list.holds(sumOfLists(declared), v)
	case cue.StructKind:
		return t.object.holds(declaredObject(declared), v)
	}
	return always()
}

// variable is the name of a macro's variable that doesn't occur in v.
func variable(v string) string {
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
