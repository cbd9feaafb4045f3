package crdgen

import (
	"math/big"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	apiservercel "k8s.io/apiserver/pkg/cel"
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

func never() predicate  { return predicate{text: "false", exact: true} }
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
	return predicate{text: "!" + wrap(condition) + " || " + wrap(q.text), exact: q.exact, fallible: q.fallible}
}

func join(texts []string, operator string) string {
	if len(texts) == 1 {
		return texts[0]
	}
	for i := range texts {
		texts[i] = wrap(texts[i])
	}
	return strings.Join(texts, operator)
}

// wrap puts parentheses around what isn't a single term.
func wrap(text string) string {
	if !strings.ContainsAny(text, " !?") {
		return text
	}
	depth, whole := 0, strings.HasSuffix(text, ")")
	for i, c := range text {
		switch c {
		case '(':
			depth++
		case ')':
			depth--
		case '\'', '"':
			whole = whole && depth > 0
		}
		whole = whole && (depth > 0 || i == len(text)-1)
		if depth == 0 && c == ' ' {
			whole = false
		}
	}
	if whole && strings.HasPrefix(text, "(") || strings.HasPrefix(text, "has(") && strings.Count(text, "(") == 1 && whole {
		return text
	}
	return "(" + text + ")"
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
	case nullable:
		return anyOf(predicate{text: "dyn(" + v + ") == null", exact: true}, p)
	default:
		return allOf(predicate{text: "dyn(" + v + ") != null", exact: true}, p)
	}
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

func celType(group cue.Kind) string {
	switch group {
	case cue.BoolKind:
		return "bool"
	case cue.NumberKind:
		return "int"
	}
	return "string"
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

// holdsNumber compares integers exactly, and other numbers as the server has
// them, which is in 64 bits.
func (t term) holdsNumber(float bool, v string) predicate {
	var all []predicate
	add := func(operator string, at *big.Rat) {
		if text, ok := celNumber(at, float); ok {
			all = append(all, predicate{text: v + operator + text, exact: true})
			return
		}
		all = append(all, unknown())
	}
	switch {
	case t.value != nil && !float && !t.value.number.IsInt():
		return never()
	case t.value != nil:
		add(" == ", t.value.number)
		return allOf(all...)
	case float && t.kind == cue.IntKind:
		all = append(all, unknown()) // which numbers are ints
	}
	for _, upper := range []bool{false, true} {
		l, operator := t.num.min, " >"
		if upper {
			l, operator = t.num.max, " <"
		}
		switch {
		case l == nil || !float && l.isImplied(upper):
			continue
		case !l.exclusive:
			operator += "= "
		default:
			operator += " "
		}
		at := l.at
		if !float && !at.IsInt() {
			at, operator = toInt(at, upper), strings.TrimRight(operator, " =")+"= "
		}
		add(operator, at)
	}
	for _, m := range t.num.multiples {
		if text, ok := celNumber(m, false); ok && !float {
			all = append(all, predicate{text: v + " % " + text + " == 0", exact: true})
			continue
		}
		all = append(all, unknown())
	}
	for _, l := range t.num.not {
		if !float && !l.number.IsInt() {
			continue
		}
		add(" != ", l.number)
	}
	return allOf(all...)
}

// toInt is the nearest integer on the inside of a limit that isn't one.
func toInt(at *big.Rat, upper bool) *big.Rat {
	q := new(big.Int).Div(at.Num(), at.Denom()) // rounds down: the denominator is positive
	if !upper {
		q.Add(q, big.NewInt(1))
	}
	return new(big.Rat).SetInt(q)
}

// celNumber writes a number; it reports false for one that CEL can't hold.
func celNumber(at *big.Rat, float bool) (string, bool) {
	if !float {
		return at.RatString(), at.IsInt() && at.Num().IsInt64()
	}
	f, exact := at.Float64()
	text := strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	// Documents are rounded in the same way, so that no value changes sides.
	return text, exact || !strings.Contains(text, "Inf")
}

func (t term) holdsString(v string) predicate {
	var all []predicate
	add := func(text string) { all = append(all, predicate{text: text, exact: true}) }
	if t.value != nil {
		add(v + " == " + celString(*t.value.string))
		return allOf(all...)
	}
	if t.str.min != nil {
		add("size(" + v + ") >= " + itoa(*t.str.min))
	}
	if t.str.max != nil {
		add("size(" + v + ") <= " + itoa(*t.str.max))
	}
	for _, p := range t.str.patterns {
		add(v + ".matches(" + celString(p) + ")")
	}
	for _, p := range t.str.notPatterns {
		add("!" + v + ".matches(" + celString(p) + ")")
	}
	for _, l := range t.str.not {
		add(v + " != " + celString(*l.string))
	}
	for _, f := range t.str.formats {
		all = append(all, f.holds(v))
	}
	return allOf(all...)
}

// celString writes a string in the quotes that leave it readable.
func celString(s string) string {
	plain := !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == '\'' || r == 0x7f || r == 0xfffd })
	switch {
	case plain && !strings.Contains(s, `\`):
		return "'" + s + "'"
	case plain:
		return "r'" + s + "'"
	}
	return strconv.Quote(s)
}

// celField selects a field of v. It reports false for names that CEL has no
// notation for.
func celField(v, name string) (string, bool) {
	escaped, ok := apiservercel.Escape(name)
	return v + "." + escaped, ok
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

func (l *list) holds(declared listSum, v string) predicate {
	var all []predicate
	count := func(n *int64, operator string, known *int64) {
		if n != nil && (known == nil || *known != *n) {
			all = append(all, predicate{text: "size(" + v + ")" + operator + itoa(*n), exact: true})
		}
	}
	count(l.min, " >= ", declared.min)
	count(l.max, " <= ", declared.max)
	least := int64(0)
	if l.min != nil {
		least = *l.min
	}
	for i, item := range l.prefix {
		index := strconv.Itoa(i)
		p := holds(item, declared.items, v+"["+index+"]")
		if int64(i) >= least {
			p = implies("size("+v+") > "+index, p)
		}
		all = append(all, p)
	}
	if !l.closed {
		x := variable(v)
		p := holds(l.rest, declared.items, x)
		switch {
		case p.text != "" && len(l.prefix) == 0:
			p.text = v + ".all(" + x + ", " + p.text + ")"
		case p.text != "":
			p = unknown() // CEL has no macro for the items after the first
		}
		all = append(all, p)
	}
	if l.unique {
		x := variable(v)
		y := variable(v + " " + x)
		p := predicate{text: v + ".all(" + x + ", " + v + ".exists_one(" + y + ", " + y + " == " + x + "))", exact: true}
		if !hasExactEquality(declared.items) {
			p = unknown()
		}
		all = append(all, p)
	}
	return allOf(all...)
}

// hasExactEquality says whether CEL finds no two different values of s equal, as
// it does with numbers beyond 2^53 in 64 bits.
func hasExactEquality(s shape) bool {
	return !slices.ContainsFunc(s, func(t term) bool {
		switch t.kind {
		case cue.TopKind, cue.NumberKind:
			return true
		case cue.ListKind:
			return !hasExactEquality(sumOfLists(shape{t}).items)
		case cue.StructKind:
			o := t.object
			return o.open || o.values != nil && !hasExactEquality(o.values) ||
				slices.ContainsFunc(o.fields, func(f field) bool {
					_, ok := celField("", f.name)
					return !ok || !hasExactEquality(f.shape)
				})
		}
		return false
	})
}

func (o *object) holds(declared *object, v string) predicate {
	all := []predicate{o.holdsRules(v)}
	if o.isMap() && declared.isMap() {
		return allOf(append(all, o.holdsMap(declared, v)...)...)
	}
	if o.values != nil && !o.values.equal(declared.values) || o.open != declared.open && !o.open {
		all = append(all, unknown())
	}
	for _, g := range declared.fields {
		at, ok := celField(v, g.name)
		f := o.lookup(g.name)
		switch {
		case !ok || !isAccessible(g.shape):
			if f == nil || !f.required && !f.shape.equal(g.shape) || f.required && !g.required || !f.shape.equal(g.shape) {
				all = append(all, unknown())
			}
		case f == nil && !o.open && o.values == nil:
			all = append(all, predicate{text: "!has(" + at + ")", exact: !isNullable(g.shape)})
		case f == nil:
		default:
			p := holds(f.shape, g.shape, at)
			present := predicate{text: "has(" + at + ")", exact: true}
			switch {
			case f.required && g.required:
			case f.required && isNullable(g.shape):
				// CEL takes null for absent.
				p = implies(present.text, p)
				p.exact = false
			case f.required:
				p = allOf(present, p)
			default:
				p = implies(present.text, p)
			}
			all = append(all, p)
		}
	}
	all = append(all, o.holdsCount(declared, v))
	return allOf(all...)
}

// isMap says whether the schema writes o as a map, which CEL sees as one.
func (o *object) isMap() bool {
	return o.values != nil && len(o.fields) == 0 && !o.open && !o.values.equal(anything())
}

func (o *object) holdsMap(declared *object, v string) []predicate {
	var all []predicate
	count := func(n *int64, operator string, known *int64) {
		if n != nil && (known == nil || *known != *n) {
			all = append(all, predicate{text: "size(" + v + ")" + operator + itoa(*n), exact: true})
		}
	}
	count(o.min, " >= ", declared.min)
	count(o.max, " <= ", declared.max)
	x := variable(v)
	value := holds(o.values, declared.values, v+"["+x+"]")
	p := allOf(append(o.keyed(declared, v, x), value)...)
	if p.text != "" {
		p.text = v + ".all(" + x + ", " + p.text + ")"
	}
	return append(all, p)
}

// keyed says which keys of a map there can be and what values they take.
func (o *object) keyed(declared *object, v, x string) []predicate {
	if slices.EqualFunc(o.patterns, declared.patterns, keyPattern.equal) && o.keysClosed == declared.keysClosed {
		// The schema can't say any of it, so it is said here or for the map.
		return nil
	}
	return o.keys(v, x)
}

// keys is what o demands of the key x of the map v.
func (o *object) keys(v, x string) []predicate {
	var all, named []predicate
	for _, p := range o.patterns {
		if len(p.key) == 0 {
			return append(all, unknown())
		}
		matches := holds(p.key, ofKinds(cue.StringKind), x)
		if !matches.exact || matches.fallible {
			all = append(all, unknown())
			named = append(named, unknown())
			continue
		}
		named = append(named, matches)
		if !p.values.equal(o.values) {
			all = append(all, implies(matches.text, holds(p.values, o.values, v+"["+x+"]")))
		}
	}
	if o.keysClosed {
		all = append(all, anyOf(named...))
	}
	return all
}

// holdsCount bounds the number of fields. What rendering fills in counts, too.
func (o *object) holdsCount(declared *object, v string) predicate {
	if o.min == nil && o.max == nil {
		return always()
	}
	if o.open || o.values != nil {
		return unknown()
	}
	filled := 0
	var present []string
	for _, f := range declared.fields {
		at, ok := celField(v, f.name)
		switch g := o.lookup(f.name); {
		case g == nil:
		case !g.optional:
			filled++
		case !ok || !isAccessible(f.shape):
			return unknown()
		default:
			present = append(present, "has("+at+")")
		}
	}
	x := variable(v)
	size := "[" + strings.Join(present, ", ") + "].filter(" + x + ", " + x + ").size()"
	if len(present) == 0 {
		size = "0"
	}
	var all []predicate
	if o.min != nil {
		all = append(all, predicate{text: size + " >= " + itoa(*o.min-int64(filled)), exact: true})
	}
	if o.max != nil {
		all = append(all, predicate{text: size + " <= " + itoa(*o.max-int64(filled)), exact: true})
	}
	return allOf(all...)
}

// holdsRules is what o's own rules say about v.
func (o *object) holdsRules(v string) predicate {
	var all []predicate
	for _, r := range o.rules {
		all = append(all, predicate{text: r.on(v), exact: r.exact && !r.defaulted})
	}
	return allOf(all...)
}
