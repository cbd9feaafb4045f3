package translate

import (
	"strings"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/schema/cel"
	"github.com/pequod-io/pequod/internal/schema/shape"
	"github.com/pequod-io/pequod/internal/schema/syntax"
)

// Unless describes a field that must be given unless an if supplies it.
type Unless struct {
	// Fills tells when the ifs supply it.
	Fills Fills
	// Notes are reported if there is no exact rule.
	Notes []problem.Problem
}

// Fills tells when the guards of a struct supply a field that has no value
// without them.
type Fills int

const (
	// FillsUnknown means that it can't be told.
	FillsUnknown Fills = iota
	// FillsNever means that no combination of guards supplies the field.
	FillsNever
	// FillsSometimes means that some guards do, or several together.
	FillsSometimes
	// FillsAlways means that each guard alone does.
	FillsAlways
)

// give adds the rule that the field g of o must be given unless one of the guards
// that may supply it holds. For size: int beside if tier == "gold" {size: 9} with
// a default for tier, the rule is has(self.size) || !has(self.tier) || self.tier
// == 'gold'. It returns the notes if there is no rule.
func (f *Frame) give(o *shape.Object, c *syntax.Guarded, g shape.Field, u Unless) []problem.Problem {
	at, ok := cel.Field(shape.SelfMark, g.Name)
	ways := f.Allowed[g.Name]
	if !ok || u.Fills == FillsUnknown || shape.IsNullable(g.Shape) || !cel.IsAccessible(g.Shape) || len(ways) == 0 || len(ways) != len(c.Fields[g.Name]) {
		return u.Notes
	}
	given := []cel.Predicate{{Text: "has(" + at + ")", Exact: true}}
	var texts []string
	fields := []string{g.Name}
	for _, w := range ways {
		fields = append(fields, w.fields...)
		given = append(given, w.when)
		texts = append(texts, strings.TrimPrefix(w.text, "if "))
	}
	q := cel.AnyOf(given...)
	o.Rules = append(o.Rules, shape.Rule{
		Text: q.Text, Exact: q.Exact && u.Fills == FillsAlways, Notes: u.Notes, Fields: fields,
		Defaulted: true, Message: g.Name + " must be given unless " + strings.Join(texts, " or "), Field: cel.FieldPath([]string{g.Name}),
	})
	return nil
}
