package translate

import (
	"strings"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/schema/cel"
	"github.com/pequod-io/pequod/internal/schema/shape"
	"github.com/pequod-io/pequod/internal/schema/syntax"
)

// unless is about a field that must be given unless conditions give it a value.
type Unless struct {
	Fills Fills
	// notes are for where no rule says so.
	Notes []problem.Problem
}

// fills says when conditions give a field a value that it doesn't have without.
type Fills int

const (
	// fillsUnknown is where that can't be told.
	FillsUnknown Fills = iota
	FillsNever
	// fillsSometimes is under some conditions, or under several together.
	FillsSometimes
	// fillsAlways is under any of the conditions.
	FillsAlways
)

// give adds the rule that the field g of o is given unless the conditions under
// which it may have a value hold.
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
