package translate

import (
	"slices"

	"github.com/pequod-io/pequod/internal/schema/cel"
	"github.com/pequod-io/pequod/internal/schema/shape"
	"github.com/pequod-io/pequod/internal/schema/syntax"
)

// fieldRule translates the expression of a field that names other fields. It
// reports false if CEL can't express it. The steps: find the field, translate the
// expression, guard it by the fields that it reads, and loop over the lists and
// maps on the way from the struct to the field.
func (t *translator) fieldRule(p Pending) ([]shape.Rule, bool) {
	at, ok := t.look(p.Target)
	if !ok {
		return nil, false
	}
	q := t.constraint(p.Expr, at)
	if q.Text == "" {
		return nil, q.Exact
	}
	if t.strays(at) {
		return nil, false
	}
	rules := t.ingredients(p, at)
	q = t.reading(at, q)
	for _, g := range at.presences {
		// If the instance leaves the field out, rendering supplies the value of
		// the expression. A bound supplies none, and the field's own default
		// may violate it.
		if g.variable == "" && !g.optional && syntax.IsBound(p.Expr) {
			t.defaulted = true
			q.Exact = q.Exact && g.value
		}
	}
	q = wherePresent(at.presences, q)
	return append(rules, shape.Rule{Text: q.Text, Exact: q.Exact, Message: inWords(p.Target) + " must be " + syntax.Text(p.Expr), Field: cel.FieldPath(p.Target)}), true
}

// wherePresent returns the predicate that q holds if the fields are present, and
// for all items of the lists and values of the maps among them.
func wherePresent(fields []presence, q cel.Predicate) cel.Predicate {
	for _, g := range slices.Backward(fields) {
		if g.variable != "" {
			q.Text = g.text + ".all(" + g.variable + ", " + q.Text + ")"
			continue
		}
		q = cel.Implies(g.text, q)
	}
	return q
}

// ingredients returns the rule that the optional fields are present from which
// rendering computes a field that the instance may leave out. For url:
// "http://\(host)" with an optional host the rule is has(self.host).
func (t *translator) ingredients(p Pending, at access) []shape.Rule {
	n := len(at.presences)
	if t.blurred || n == 0 || at.presences[n-1].optional || at.presences[n-1].variable != "" || syntax.IsBound(p.Expr) {
		return nil
	}
	needs := t.needs
	q := t.reading(at, cel.Always())
	t.needs = needs
	if q.Text == "" {
		return nil
	}
	q = wherePresent(at.presences[:n-1], q)
	return []shape.Rule{{Text: q.Text, Exact: q.Exact, Message: "what " + inWords(p.Target) + " is made of must be given"}}
}
