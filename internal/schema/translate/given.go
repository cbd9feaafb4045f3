package translate

import (
	"strings"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/schema/cel"
	"github.com/pequod-io/pequod/internal/schema/shape"
)

// guards are all ifs that add to one field, translated.
type guards struct {
	// present is the CEL expression that the field is present.
	present string
	// when holds if one of the guards may hold, and texts are the guards in CUE
	// syntax, such as if tls.
	when  cel.Predicate
	texts []string
	// fields are the field itself and the fields that the guards read.
	fields []string
}

// guardsOf returns the guards of a field. It reports false if the field has none,
// or if one of them could not be translated, because then a valid field could be
// rejected.
func (f *Frame) guardsOf(name string) (guards, bool) {
	at, ok := cel.Field(shape.SelfMark, name)
	allowed := f.Allowed[name]
	if !ok || len(allowed) == 0 || len(allowed) != len(f.Guarded.Fields[name]) {
		return guards{}, false
	}
	g := guards{present: "has(" + at + ")"}
	var when []cel.Predicate
	for _, a := range allowed {
		when = append(when, a.when)
		g.texts = append(g.texts, a.text)
		g.fields = append(g.fields, a.fields...)
	}
	g.when = cel.AnyOf(when...)
	return g, true
}

// give adds the rule that the field must be given unless one of the guards that
// may supply it holds. For size: int beside if tier == "gold" {size: 9} with a
// default for tier, the rule is has(self.size) || !has(self.tier) || self.tier ==
// 'gold'. It returns the notes if there is no rule.
func (f *Frame) give(field shape.Field, u Unless) []problem.Problem {
	g, ok := f.guardsOf(field.Name)
	if !ok || u.Fills == FillsUnknown || shape.IsNullable(field.Shape) || !cel.IsAccessible(field.Shape) {
		return u.Notes
	}
	q := cel.AnyOf(cel.Predicate{Text: g.present, Exact: true}, g.when)
	texts := strings.TrimPrefix(strings.Join(g.texts, " or "), "if ")
	f.object.Rules = append(f.object.Rules, shape.Rule{
		Text: q.Text, Exact: q.Exact && u.Fills == FillsAlways, Notes: u.Notes, Fields: g.fields, Defaulted: true,
		Message: field.Name + " must be given unless " + strings.ReplaceAll(texts, " or if ", " or "),
		Field:   cel.FieldPath([]string{field.Name}),
	})
	return nil
}

// allow adds the rule for a field that only ifs allow: it may be present only if
// one of its guards holds.
func (f *Frame) allow(field shape.Field) {
	g, ok := f.guardsOf(field.Name)
	if !ok {
		return
	}
	q := cel.Implies(g.present, g.when)
	f.object.Rules = append(f.object.Rules, shape.Rule{
		Text: q.Text, Exact: q.Exact && !shape.IsNullable(field.Shape), Defaulted: true,
		Notes: f.Allowed[field.Name][0].notes, Fields: g.fields,
		Message: field.Name + " is only allowed " + strings.Join(g.texts, " or "),
		Field:   cel.FieldPath([]string{field.Name}),
	})
}
