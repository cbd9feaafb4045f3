package translate

import (
	"slices"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/schema/cel"
	"github.com/pequod-io/pequod/internal/schema/shape"
	"github.com/pequod-io/pequod/internal/schema/syntax"
)

// resolve translates p, which waited for the struct of f, into rules of that
// struct. It returns the notes of what CEL can't express. A rule depends on all
// fields that the translator looked at, even if its text names only some of them.
func (f *Frame) resolve(s Schema, p Pending) []problem.Problem {
	t := &translator{schema: s, frame: f, frames: p.Frames, segments: p.Segments, blurred: p.Blurred}
	var rules []shape.Rule
	var ok bool
	if p.Comprehension != nil {
		rules, ok = t.comprehension(p)
	} else {
		rules, ok = t.fieldRule(p)
	}
	if !ok {
		return append(t.notes, p.Notes...)
	}
	for _, q := range rules {
		q.Notes = p.Notes
		q.Defaulted, q.Fields = t.defaulted, t.fields
		f.object.Rules = append(f.object.Rules, q)
	}
	return t.notes
}

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
	seen := map[string]bool{}
	for _, g := range at.presences {
		seen[g.text] = true
	}
	if t.strays(seen) {
		return nil, false
	}
	rules := t.ingredients(p, at)
	q = t.reading(seen, q)
	for _, g := range slices.Backward(at.presences) {
		if g.variable != "" {
			q.Text = g.text + ".all(" + g.variable + ", " + q.Text + ")"
			continue
		}
		// If the instance leaves the field out, rendering supplies the value of
		// the expression. A bound supplies none, and the field's own default
		// may violate it.
		if syntax.IsBound(p.Expr) && !g.optional {
			t.defaulted = true
			q.Exact = q.Exact && g.value
		}
		q = cel.Implies(g.text, q)
	}
	return append(rules, shape.Rule{Text: q.Text, Exact: q.Exact, Message: inWords(p.Target) + " must be " + syntax.Text(p.Expr), Field: cel.FieldPath(p.Target)}), true
}

// ingredients returns the rule that the optional fields are present from which
// rendering computes a field that the instance may leave out. For url:
// "http://\(host)" with an optional host the rule is has(self.host).
func (t *translator) ingredients(p Pending, at access) []shape.Rule {
	n := len(at.presences)
	if t.blurred || n == 0 || at.presences[n-1].optional || at.presences[n-1].variable != "" || syntax.IsBound(p.Expr) {
		return nil
	}
	seen := map[string]bool{}
	for _, g := range at.presences {
		seen[g.text] = true
	}
	needs := t.needs
	q := t.reading(seen, cel.Always())
	t.needs = needs
	if q.Text == "" {
		return nil
	}
	for _, g := range slices.Backward(at.presences[:n-1]) {
		if g.variable != "" {
			q.Text = g.text + ".all(" + g.variable + ", " + q.Text + ")"
			continue
		}
		q = cel.Implies(g.text, q)
	}
	return []shape.Rule{{Text: q.Text, Exact: q.Exact, Message: "what " + inWords(p.Target) + " is made of must be given"}}
}
