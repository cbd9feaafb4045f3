package translate

import (
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/schema/cel"
	"github.com/pequod-io/pequod/internal/schema/cuefault"
	"github.com/pequod-io/pequod/internal/schema/shape"
	"github.com/pequod-io/pequod/internal/schema/syntax"
)

// given returns the predicates that the guard q certainly holds and that it
// possibly holds. They differ if q reads fields that rendering supplies. A rule
// demands something only if its guard surely holds. A field that only an if
// allows is rejected only if no guard possibly holds.
func (t *translator) given(q cel.Predicate) (sure, maybe cel.Predicate) {
	needs := t.needs
	maybe = t.reading(map[string]bool{}, q)
	sure = q
	seen := map[string]bool{}
	var guards []cel.Predicate
	for _, a := range needs {
		for _, g := range a.presences {
			if !seen[g.text] {
				seen[g.text] = true
				guards = append(guards, cel.Predicate{Text: g.text, Exact: true})
			}
		}
	}
	if q.Text == "true" && len(guards) == 0 {
		return cel.Always(), cel.Always()
	}
	return cel.AllOf(append(guards, q)...), maybe
}

// comprehension translates nested ifs without else: the declarations of the body
// hold if the guards do. Fields that only the body allows are recorded in the
// frame. The steps: translate the guards; demand the fields that the guards read;
// translate each declaration of the body, and make the guards imply it.
func (t *translator) comprehension(p Pending) ([]shape.Rule, bool) {
	if p.Comprehension.Fallback != nil || slices.Contains(p.Target, EachItem) || slices.Contains(p.Target, EachValue) {
		return nil, false
	}
	if cuefault.ForgottenGuard && syntax.CallsOnOwn(p.Comprehension) {
		return nil, false
	}
	var conditions, possible []cel.Predicate
	var texts []string
	for _, clause := range p.Comprehension.Clauses {
		c, ok := clause.(*ast.IfClause)
		if !ok {
			return nil, false
		}
		t.needs = nil
		q := t.guard(c.Condition)
		if !q.Exact {
			return nil, false
		}
		if q.Text == "" {
			q.Text = "true"
		}
		sure, maybe := t.given(q)
		conditions, possible = append(conditions, sure), append(possible, maybe)
		texts = append(texts, syntax.Text(c.Condition))
	}
	body, ok := p.Comprehension.Value.(*ast.StructLit)
	if !ok {
		return nil, false
	}
	// If rendering supplies a field that a guard reads, the rule demands
	// nothing.
	applies, exact := cel.AllOf(conditions...), cel.AllOf(possible...).Exact
	when := "if " + strings.Join(texts, " if ")
	var rules []shape.Rule
	lost := false
	add := func(q cel.Predicate, message, field string) {
		if q.Text == "" && !q.Exact {
			lost = true
		}
		if q.Text != "" {
			q = cel.Implies(applies.Text, q)
			rules = append(rules, shape.Rule{Text: q.Text, Exact: q.Exact && exact, Message: message, Field: field})
		}
	}
	// A guard that reads an absent optional field is an error, not false.
	for i, clause := range p.Comprehension.Clauses {
		t.needs = nil
		t.guard(clause.(*ast.IfClause).Condition)
		there := t.reading(map[string]bool{}, cel.Always())
		if there.Text == "" || there.Text == "true" {
			continue
		}
		there.Exact = true
		// CUE evaluates a nested guard only if the outer ones hold.
		before := cel.AllOf(conditions[:i]...)
		q := cel.Implies(before.Text, there)
		rules = append(rules, shape.Rule{Text: q.Text, Exact: true, Message: "what '" + texts[i] + "' asks for must be given"})
	}
	for _, d := range body.Elts {
		// If one declaration of the body can't be translated, the body has no
		// rules at all.
		q, message, name, ok := t.declaration(d, p.Target)
		if !ok {
			return nil, false
		}
		add(q, when+": "+message, cel.FieldPath(append(slices.Clone(p.Target), name)))
		if name != "" && len(p.Target) == 0 {
			t.frame.Allowed[name] = append(t.frame.Allowed[name], Allowed{when: cel.AllOf(possible...), text: when, notes: p.Notes, fields: append(slices.Clone(t.fields), name)})
		}
	}
	if lost {
		t.notes = append(t.notes, p.Notes...)
	}
	return rules, true
}

// declaration translates one declaration in the body of an if. It returns the
// predicate about the struct at target, the message, and the name of the field
// that the declaration allows. A field with ! must be given, one with ? is
// constrained if it is given, and a regular field with a value is supplied by
// rendering. A field that is _|_ must not be given.
func (t *translator) declaration(d ast.Decl, target []string) (q cel.Predicate, message, name string, ok bool) {
	f, isField := d.(*ast.Field)
	if !isField {
		e, isEmbed := d.(*ast.EmbedDecl)
		if isEmbed && syntax.IsBottom(e.Expr) {
			return cel.Never(), syntax.ErrorOf(e.Expr), "", true
		}
		return cel.Predicate{}, "", "", false
	}
	name, ok = syntax.StaticName(f.Label)
	if !ok {
		return cel.Predicate{}, "", "", false
	}
	if strings.HasPrefix(name, "_") || strings.HasPrefix(name, "#") {
		if syntax.IsBottom(f.Value) && f.Constraint == token.ILLEGAL {
			return cel.Never(), syntax.ErrorOf(f.Value), "", true
		}
		return cel.Predicate{}, "", "", false
	}
	at, ok := t.look(append(slices.Clone(target), name))
	if !ok {
		return cel.Predicate{}, "", "", false
	}
	t.needs = nil
	switch {
	case syntax.IsBottom(f.Value):
		q = cel.Never()
	default:
		q = t.constraint(f.Value, at)
	}
	blurred := t.blurred
	// A shape of several terms is a disjunction, in which CUE drops failing
	// members.
	t.blurred = len(at.shape) > 1
	defer func() { t.blurred = blurred }()
	seen := map[string]bool{}
	for _, g := range at.presences {
		seen[g.text] = true
	}
	q = t.reading(seen, q)
	message = inWords(append(slices.Clone(target), name)) + " must be " + syntax.Text(f.Value)
	if syntax.IsBottom(f.Value) {
		message = inWords(append(slices.Clone(target), name)) + " must not be given"
	}
	if !at.conditional && syntax.Loosens(f.Value) {
		q.Exact = false
	}
	for i, g := range slices.Backward(at.presences) {
		last := i == len(at.presences)-1
		switch {
		case last && f.Constraint == token.OPTION:
			q = cel.Implies(g.text, q)
			// The predicate says nothing about a value that rendering supplies.
			q.Exact = q.Exact && g.optional
		case last && f.Constraint != token.OPTION && g.filled && !syntax.IsBottom(f.Value), last && g.nullable:
			q = cel.Implies(g.text, q)
			q.Exact = false
		case last && g.optional && f.Constraint == token.NOT:
			q = cel.AllOf(cel.Predicate{Text: g.text, Exact: true}, q)
		case last && syntax.IsBottom(f.Value):
		case last && !g.optional:
			// The default of the field may contradict the body.
			t.defaulted = true
			q = cel.Implies(g.text, q)
			q.Exact = q.Exact && !syntax.IsBound(f.Value) && !g.clashes
		case last && !t.supplies(f.Value):
			q = cel.AllOf(cel.Predicate{Text: g.text, Exact: true}, q)
		default:
			q = cel.Implies(g.text, q)
			q.Exact = q.Exact && last
		}
	}
	return q, message, name, true
}

// supplies reports whether a field that e constrains may have a value that the
// instance doesn't give.
func (t *translator) supplies(e ast.Expr) bool {
	if syntax.IsBound(e) {
		return false
	}
	if syntax.AnyFieldRefers(e) {
		return true
	}
	concrete, ok := t.schema.IsConcrete(e)
	return !ok || concrete
}

// Allowed is a guard under which a field is allowed.
type Allowed struct {
	// when holds if the guard may hold, and text is the guard in CUE syntax.
	when cel.Predicate
	text string
	// notes are those of the comprehension.
	notes []problem.Problem
	// fields are the fields of the struct that the guard reads.
	fields []string
}

// allow adds the rules for the fields of o that only ifs allow: such a field may
// be present only if one of its guards holds. It adds none if one of the guards
// could not be translated, because then a valid field could be rejected.
func (f *Frame) allow(o *shape.Object, c *syntax.Guarded) {
	if c == nil || o.Open || c.Open || c.Deep {
		return
	}
	for _, g := range o.Fields {
		ways := f.Allowed[g.Name]
		at, ok := cel.Field(shape.SelfMark, g.Name)
		if !g.Guarded || !ok || len(ways) == 0 || len(ways) != len(c.Fields[g.Name]) {
			continue
		}
		var when []cel.Predicate
		var texts, fields []string
		for _, w := range ways {
			fields = append(fields, w.fields...)
			when = append(when, w.when)
			texts = append(texts, w.text)
		}
		q := cel.Implies("has("+at+")", cel.AnyOf(when...))
		o.Rules = append(o.Rules, shape.Rule{
			Text: q.Text, Exact: q.Exact && !shape.IsNullable(g.Shape), Defaulted: true, Notes: ways[0].notes,
			Fields:  fields,
			Message: g.Name + " is only allowed " + strings.Join(texts, " or "), Field: cel.FieldPath([]string{g.Name}),
		})
	}
}
