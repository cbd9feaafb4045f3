package diagnose

import (
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	cueerrors "cuelang.org/go/cue/errors"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/schema/syntax"
	"github.com/pequod-io/pequod/internal/source/cueerror"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
	"github.com/pequod-io/pequod/internal/source/fieldpath"
)

// addConstraint reports the first error of a value as a whole, such as a bound, a
// pattern or a validator. v is the value e unified with its schema. A valid value
// that is only incomplete is unsettled, because another mistake explains it.
func (d *diagnosis) addConstraint(v cue.Value, e ast.Expr, path string, schema cue.Value) {
	errs := cueerror.Causes(cueerror.List(v.Validate(cue.Concrete(true), cue.All())))
	switch {
	case len(errs) == 0:
	case isValid(v) && !isFinal(errs[0]):
		// The value depends on something that is missing elsewhere.
		d.unsettled = append(d.unsettled, d.problemOf(errs[0], path, e, schema))
	default:
		d.problems = append(d.problems, d.problemOf(errs[0], path, e, schema))
	}
}

// isFinal reports whether an error that more data could resolve, as far as CUE
// knows, is final here: an instance is complete, no data is added to it.
func isFinal(e cueerrors.Error) bool {
	format, _ := e.Msg()
	return strings.HasPrefix(format, "invalid value")
}

// problemOf returns the problem for an error of CUE about the value at a path, or
// about something inside it. The message of a bound that is another field names
// that field: "10 is not >=20 (spec.scale.min)". A repeated item of a list that must be unique is
// reported at the item.
func (d *diagnosis) problemOf(e cueerrors.Error, path string, value ast.Expr, schema cue.Value) problem.Problem {
	// CUE may report an error below the value, for example in a list item.
	if inner := d.pathOf(e); len(inner) > len(path) && inner[:len(path)] == path {
		path = inner
	}
	p := problem.Problem{
		Position: cuesyntax.PositionAt(d.data, fieldpath.Split(path)), Path: path,
		Related: d.rulePosition(e, schema),
	}
	p.Message, p.Rule = errorMessage(e, value)
	if other := d.comparedField(e, path, p.Related); other != "" {
		p.Message += " (" + other + ")"
	}
	if l, ok := value.(*ast.ListLit); ok && p.Message == notUnique {
		if i := repeatedItem(l); i > 0 {
			p.Path += fieldpath.Index(i)
			p.Position = cuesyntax.PositionAt(d.data, fieldpath.Split(p.Path))
			p.Message = quoteValue(l.Elts[i]) + " is in the list already"
		}
	}
	return p
}

// pathOf returns the path of a CUE error as the author of the instance knows
// it: without the module's `input` in front, and with list items in brackets.
func (d *diagnosis) pathOf(err cueerrors.Error) string {
	parts := err.Path()
	if len(parts) > 0 && parts[0] == "input" {
		parts = parts[1:]
	}
	var path string
	var e ast.Expr = d.data
	for _, part := range parts {
		if l, ok := e.(*ast.ListLit); ok && fieldpath.IsIndex(part) {
			path += "[" + part + "]"
			e = cuesyntax.Item(l, part)
			continue
		}
		part = cuesyntax.UnquoteLabel(part)
		path = fieldpath.Join(path, part)
		s, _ := e.(*ast.StructLit)
		if e = nil; cuesyntax.Field(s, part) != nil {
			e = cuesyntax.Field(s, part).Value
		}
	}
	return path
}

// rulePosition returns the position of the rule that an error is about: the
// first of its positions outside the instance, else that of the schema.
func (d *diagnosis) rulePosition(e cueerrors.Error, schema cue.Value) problem.Position {
	for _, p := range cueerrors.Positions(e) {
		if at := d.positionOutside(p); at.File != "" {
			return at
		}
	}
	return d.schemaPosition(schema)
}

// repeatedItem returns the index of the first item that equals an earlier one, or
// 0, which no repeated item has. Items are equal if their source is.
func repeatedItem(l *ast.ListLit) int {
	seen := map[string]bool{}
	for i, e := range l.Elts {
		key := syntax.Text(e)
		if seen[key] {
			return i
		}
		seen[key] = true
	}
	return 0
}
