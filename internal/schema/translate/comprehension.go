package translate

import (
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"

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
	var read []cel.Predicate
	for _, g := range t.unseen(access{}) {
		read = append(read, cel.Predicate{Text: g.text, Exact: true})
	}
	if q.Text == "true" && len(read) == 0 {
		return cel.Always(), cel.Always()
	}
	return cel.AllOf(append(read, q)...), t.reading(access{}, q)
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
	body, ok := p.Comprehension.Value.(*ast.StructLit)
	if !ok {
		return nil, false
	}
	var conditions, possible []cel.Predicate
	var texts []string
	var rules []shape.Rule
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
		text, needs := syntax.Text(c.Condition), t.needs
		// A guard that reads an absent optional field is an error, not false.
		// CUE evaluates a nested guard only if the outer ones hold.
		if there := t.reading(access{}, cel.Always()); there.Text != "" && there.Text != "true" {
			there = cel.Implies(cel.AllOf(conditions...).Text, there)
			rules = append(rules, shape.Rule{Text: there.Text, Exact: true, Message: "what '" + text + "' asks for must be given"})
		}
		t.needs = needs
		sure, maybe := t.given(q)
		conditions, possible = append(conditions, sure), append(possible, maybe)
		texts = append(texts, text)
	}
	// If rendering supplies a field that a guard reads, the rule demands
	// nothing.
	applies, allowed := cel.AllOf(conditions...), cel.AllOf(possible...)
	when := "if " + strings.Join(texts, " if ")
	lost := false
	add := func(q cel.Predicate, message, field string) {
		if q.Text == "" && !q.Exact {
			lost = true
		}
		if q.Text != "" {
			q = cel.Implies(applies.Text, q)
			rules = append(rules, shape.Rule{Text: q.Text, Exact: q.Exact && allowed.Exact, Message: message, Field: field})
		}
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
			t.frame.Allowed[name] = append(t.frame.Allowed[name], Allowed{when: allowed, text: when, notes: p.Notes, fields: append(slices.Clone(t.fields), name)})
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
// rendering. An embedded or hidden _|_ never holds.
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
	path := append(slices.Clone(target), name)
	at, ok := t.look(path)
	if !ok || syntax.IsBottom(f.Value) {
		return cel.Predicate{}, "", "", false
	}
	t.needs = nil
	q = t.constraint(f.Value, at)
	blurred := t.blurred
	// A shape of several terms is a disjunction, in which CUE drops failing
	// members.
	t.blurred = len(at.shape) > 1
	defer func() { t.blurred = blurred }()
	q = t.reading(at, q)
	message = inWords(path) + " must be " + syntax.Text(f.Value)
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
		case last && f.Constraint != token.OPTION && g.filled, last && g.nullable:
			q = cel.Implies(g.text, q)
			q.Exact = false
		case last && g.optional && f.Constraint == token.NOT:
			q = cel.AllOf(cel.Predicate{Text: g.text, Exact: true}, q)
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
	if syntax.Parameters(nil).AnyFieldRefers(e) {
		return true
	}
	concrete, ok := t.schema.IsConcrete(e)
	return !ok || concrete
}
