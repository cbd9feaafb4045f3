package crdgen

import (
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"
)

// given is the predicate that a condition surely holds, and that it may hold: they
// differ where it reads fields that rendering fills in.
func (t *translator) given(q predicate) (sure, maybe predicate) {
	needs := t.needs
	maybe = t.reading(map[string]bool{}, q)
	sure = q
	seen := map[string]bool{}
	var guards []predicate
	for _, a := range needs {
		for _, g := range a.guards {
			if !seen[g.text] {
				seen[g.text] = true
				guards = append(guards, predicate{text: g.text, exact: true})
			}
		}
	}
	if q.text == "true" && len(guards) == 0 {
		return always(), always()
	}
	return allOf(append(guards, q)...), maybe
}

// comprehension are the rules of a comprehension of ifs: that its body holds if
// its conditions do. What only its body allows is noted in the frame.
func (t *translator) comprehension(p pending) ([]rule, bool) {
	if p.comprehension.Fallback != nil || slices.Contains(p.target, eachItem) || slices.Contains(p.target, eachValue) {
		return nil, false
	}
	if callsOnOwn(p.comprehension) {
		return nil, false
	}
	var conditions, possible []predicate
	var texts []string
	for _, clause := range p.comprehension.Clauses {
		c, ok := clause.(*ast.IfClause)
		if !ok {
			return nil, false
		}
		t.needs = nil
		q := t.condition(c.Condition)
		if !q.exact {
			return nil, false
		}
		if q.text == "" {
			q.text = "true"
		}
		sure, maybe := t.given(q)
		conditions, possible = append(conditions, sure), append(possible, maybe)
		texts = append(texts, textOf(c.Condition))
	}
	body, ok := p.comprehension.Value.(*ast.StructLit)
	if !ok {
		return nil, false
	}
	// Where rendering fills in what the conditions read, nothing is demanded.
	applies, exact := allOf(conditions...), allOf(possible...).exact
	when := "if " + strings.Join(texts, " if ")
	var rules []rule
	lost := false
	add := func(q predicate, message, field string) {
		if q.text == "" && !q.exact {
			lost = true
		}
		if q.text != "" {
			q = implies(applies.text, q)
			rules = append(rules, rule{text: q.text, exact: q.exact && exact, message: message, field: field})
		}
	}
	// An expression over an absent optional field is an error, not false.
	for i, clause := range p.comprehension.Clauses {
		t.needs = nil
		t.condition(clause.(*ast.IfClause).Condition)
		there := t.reading(map[string]bool{}, always())
		if there.text == "" || there.text == "true" {
			continue
		}
		there.exact = true
		before := allOf(conditions[:i]...)
		q := implies(before.text, there)
		rules = append(rules, rule{text: q.text, exact: true, message: "what '" + texts[i] + "' asks for must be given"})
	}
	for _, d := range body.Elts {
		q, message, name, ok := t.declaration(d, p.target)
		if !ok {
			return nil, false
		}
		add(q, when+": "+message, fieldPath(append(slices.Clone(p.target), name)))
		if name != "" && len(p.target) == 0 {
			t.frame.allowed[name] = append(t.frame.allowed[name], allowed{when: allOf(possible...), text: when, notes: p.notes, fields: append(slices.Clone(t.fields), name)})
		}
	}
	if lost {
		t.r.put(p.notes...)
	}
	return rules, true
}

// callsOnOwn says whether a condition of a comprehension calls a function on a field
// that its body declares: where that field is a disjunction, CUE v0.17.1 may forget
// the condition.
func callsOnOwn(x *ast.Comprehension) bool {
	body, ok := x.Value.(*ast.StructLit)
	if !ok {
		return false
	}
	own := map[string]bool{}
	for _, d := range body.Elts {
		if f, ok := d.(*ast.Field); ok {
			if name, ok := staticName(f.Label); ok {
				own[name] = true
			}
		}
	}
	found := false
	for _, clause := range x.Clauses {
		ast.Walk(clause, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				for _, a := range call.Args {
					id, ok := a.(*ast.Ident)
					found = found || ok && own[id.Name]
				}
			}
			return !found
		}, nil)
	}
	return found
}

// declaration is what a declaration in the body of a comprehension demands of
// the struct at target, and the field that it allows.
func (t *translator) declaration(d ast.Decl, target []string) (q predicate, message, name string, ok bool) {
	f, isField := d.(*ast.Field)
	if !isField {
		e, isEmbed := d.(*ast.EmbedDecl)
		if isEmbed && isBottom(e.Expr) {
			return never(), errorOf(e.Expr), "", true
		}
		return predicate{}, "", "", false
	}
	name, ok = staticName(f.Label)
	if !ok {
		return predicate{}, "", "", false
	}
	if strings.HasPrefix(name, "_") || strings.HasPrefix(name, "#") {
		if isBottom(f.Value) && f.Constraint == token.ILLEGAL {
			return never(), errorOf(f.Value), "", true
		}
		return predicate{}, "", "", false
	}
	at, ok := t.look(append(slices.Clone(target), name))
	if !ok {
		return predicate{}, "", "", false
	}
	t.needs = nil
	switch {
	case isBottom(f.Value):
		q = never()
	default:
		q = t.constraint(f.Value, at)
	}
	blurred := t.blurred
	t.blurred = len(at.shape) > 1
	defer func() { t.blurred = blurred }()
	seen := map[string]bool{}
	for _, g := range at.guards {
		seen[g.text] = true
	}
	q = t.reading(seen, q)
	message = inWords(append(slices.Clone(target), name)) + " must be " + textOf(f.Value)
	if isBottom(f.Value) {
		message = inWords(append(slices.Clone(target), name)) + " must not be given"
	}
	if !at.conditional && loosens(f.Value) {
		q.exact = false
	}
	for i, g := range slices.Backward(at.guards) {
		last := i == len(at.guards)-1
		switch {
		case last && f.Constraint == token.OPTION:
			q = implies(g.text, q)
			// What rendering fills in must meet it, too.
			q.exact = q.exact && g.optional
		case last && f.Constraint != token.OPTION && g.filled && !isBottom(f.Value), last && g.nullable:
			q = implies(g.text, q)
			q.exact = false
		case last && g.optional && f.Constraint == token.NOT:
			q = allOf(predicate{text: g.text, exact: true}, q)
		case last && isBottom(f.Value):
		case last && !g.optional:
			// The field's own default may not meet the condition.
			t.defaulted = true
			q = implies(g.text, q)
			q.exact = q.exact && !isBound(f.Value) && !g.clashes
		case last && !t.supplies(f.Value):
			q = allOf(predicate{text: g.text, exact: true}, q)
		default:
			q = implies(g.text, q)
			q.exact = q.exact && last
		}
	}
	return q, message, name, true
}

// supplies says whether a field that e constrains may have a value although the
// instance gives none.
func (t *translator) supplies(e ast.Expr) bool {
	if isBound(e) {
		return false
	}
	if anyFieldRefers(e) {
		return true
	}
	v, ok := t.r.build(e)
	return !ok || v.Validate(cue.Concrete(true)) == nil
}

// errorOf is the message of an error in a schema.
func errorOf(e ast.Expr) string {
	if call, ok := e.(*ast.CallExpr); ok && len(call.Args) == 1 {
		return strings.Trim(textOf(call.Args[0]), `"`)
	}
	return textOf(e)
}

// isBottom says whether e is an error.
func isBottom(e ast.Expr) bool {
	switch x := e.(type) {
	case *ast.BottomLit:
		return true
	case *ast.ParenExpr:
		return isBottom(x.X)
	case *ast.CallExpr:
		name, ok := calleeName(x)
		return ok && name == "error"
	}
	return false
}

// allowed is a condition under which a field may be there.
type allowed struct {
	when  predicate
	text  string
	notes []Note
	// fields are those that the condition reads.
	fields []string
}

// allow adds the rules for the fields of o that only comprehensions allow.
func (f *frame) allow(o *object, c *condition) {
	if c == nil || o.open || c.open || c.deep {
		return
	}
	for _, g := range o.fields {
		ways := f.allowed[g.name]
		at, ok := celField(selfMark, g.name)
		if !g.conditional || !ok || len(ways) == 0 || len(ways) != len(c.fields[g.name]) {
			continue
		}
		var when []predicate
		var texts, fields []string
		for _, w := range ways {
			fields = append(fields, w.fields...)
			when = append(when, w.when)
			texts = append(texts, w.text)
		}
		q := implies("has("+at+")", anyOf(when...))
		o.rules = append(o.rules, rule{
			text: q.text, exact: q.exact && !isNullable(g.shape), defaulted: true, notes: ways[0].notes,
			fields:  fields,
			message: g.name + " is only allowed " + strings.Join(texts, " or "), field: fieldPath([]string{g.name}),
		})
	}
}
