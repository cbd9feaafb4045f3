package crdgen

import (
	"slices"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"
)

// resolve makes a rule of what waited for f, whose fields are now known. Where
// CEL can't say it, its notes say so.
func (r *reader) resolve(f *frame, p pending) {
	t := &translator{r: r, frame: f, frames: p.frames, steps: p.steps, blurred: p.blurred}
	var rules []rule
	var ok bool
	if p.comprehension != nil {
		rules, ok = t.comprehension(p)
	} else {
		rules, ok = t.fieldRule(p)
	}
	if !ok {
		r.put(p.notes...)
		return
	}
	for _, q := range rules {
		q.notes = p.notes
		q.defaulted, q.fields = t.defaulted, t.fields
		f.object.rules = append(f.object.rules, q)
	}
}

// fieldRule is the rule for a field whose expression names other fields.
func (t *translator) fieldRule(p pending) ([]rule, bool) {
	at, ok := t.look(p.target)
	if !ok {
		return nil, false
	}
	q := t.constraint(p.expr, at)
	if q.text == "" {
		return nil, q.exact
	}
	seen := map[string]bool{}
	for _, g := range at.guards {
		seen[g.text] = true
	}
	if t.strays(seen) {
		return nil, false
	}
	rules := t.ingredients(p, at)
	q = t.reading(seen, q)
	for _, g := range slices.Backward(at.guards) {
		if g.variable != "" {
			q.text = g.text + ".all(" + g.variable + ", " + q.text + ")"
			continue
		}
		// What rendering fills in where the instance says nothing is what the
		// expression says, unless a bound meets a default.
		if isBound(p.expr) && !g.optional {
			t.defaulted = true
			q.exact = q.exact && g.value
		}
		q = implies(g.text, q)
	}
	return append(rules, rule{text: q.text, exact: q.exact, message: inWords(p.target) + " must be " + textOf(p.expr), field: fieldPath(p.target)}), true
}

// ingredients is the rule that the optional fields are there of which rendering
// makes a field that the instance may leave out.
func (t *translator) ingredients(p pending, at access) []rule {
	n := len(at.guards)
	if t.blurred || n == 0 || at.guards[n-1].optional || at.guards[n-1].variable != "" || isBound(p.expr) {
		return nil
	}
	seen := map[string]bool{}
	for _, g := range at.guards {
		seen[g.text] = true
	}
	needs := t.needs
	q := t.reading(seen, always())
	t.needs = needs
	if q.text == "" {
		return nil
	}
	for _, g := range slices.Backward(at.guards[:n-1]) {
		if g.variable != "" {
			q.text = g.text + ".all(" + g.variable + ", " + q.text + ")"
			continue
		}
		q = implies(g.text, q)
	}
	return []rule{{text: q.text, exact: q.exact, message: "what " + inWords(p.target) + " is made of must be given"}}
}

// isBound says whether e is a comparison, which supplies no value.
func isBound(e ast.Expr) bool {
	switch x := expression(e).(type) {
	case *ast.UnaryExpr:
		return x.Op != token.MUL && x.Op != token.SUB && x.Op != token.ADD && x.Op != token.NOT
	case *ast.BinaryExpr:
		return x.Op == token.AND && isBound(x.X) && isBound(x.Y)
	case *ast.Ident:
		return x.Node == nil && slices.Contains(basicTypes(), x.Name) && x.Name != "null"
	}
	return false
}
