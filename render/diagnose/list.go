package diagnose

import (
	"fmt"
	"slices"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
)

// diagnoseList reports the mistakes in a list whose schema admits lists. v is
// the list unified with its schema.
//
// Items that the schema lists one by one, as in [string, int], are judged at
// their index. All others have the same schema, and are judged one by one behind
// placeholders, so that the cost does not grow with the square of the length.
func (d *diagnosis) diagnoseList(loc location, schema, v cue.Value, l *ast.ListLit) {
	// A union of lists, such as [...string] | [...int], has no single item schema.
	lists := filter(alternatives(schema), func(v cue.Value) bool { return schemaKinds(v)&cue.ListKind != 0 })
	if len(lists) > 1 {
		d.diagnoseListOfUnion(loc, l)
		return
	}
	if len(lists) == 1 {
		schema = lists[0]
	}
	fixed := 0 // the number of items that the schema lists, as in [string, int, ...]
	for schema.LookupPath(cue.MakePath(cue.Index(fixed))).Exists() {
		fixed++
	}
	open := schema.LookupPath(cue.MakePath(cue.AnyIndex)).Exists() || fixed == 0
	switch n := len(l.Elts); {
	case open && n < fixed:
		d.add(loc.path, problem.RuleConstraint, d.schemaPosition(schema), fmt.Sprintf("must have at least %s, not %d", source.Count(fixed, "item"), n), "")
	case !open && n != fixed:
		d.add(loc.path, problem.RuleConstraint, d.schemaPosition(schema), fmt.Sprintf("must have %s, not %d", source.Count(fixed, "item"), n), "")
	}
	placeholders := make([]ast.Expr, fixed)
	for i := range placeholders {
		placeholders[i] = cuesyntax.Any()
	}
	before := len(d.problems)
	failed := isFailedUnion(v)
	for i, e := range l.Elts {
		item := v.LookupPath(cue.MakePath(cue.Index(i)))
		switch {
		case !failed && item.Exists() && isValid(item):
			d.diagnoseIncomplete(loc.item(i, l.Elts[:i], l.Elts[i+1:]), item, e)
		case i < fixed:
			d.diagnoseIfInvalid(loc.item(i, placeholders[:i], placeholders[i+1:]), e)
		case open:
			// All further items have the same schema, so the first index will
			// do.
			d.diagnoseIfInvalid(loc.item(i, placeholders, nil), e)
		}
	}
	if failed && len(d.problems) == before {
		// CUE reports [...string] | [...int] as one list as long as it is
		// empty.
		d.diagnoseListOfUnion(loc, l)
	}
}

// diagnoseListOfUnion reports the mistakes in a list whose schema is a
// disjunction of lists. The first item that one of them admits decides which was
// meant: the others are judged next to it. If no item is admitted, nothing is
// reported here, and the list as a whole is.
func (d *diagnosis) diagnoseListOfUnion(loc location, l *ast.ListLit) {
	first := slices.IndexFunc(l.Elts, func(e ast.Expr) bool { return isValid(d.try(loc, ast.NewList(e))) })
	if first < 0 {
		return
	}
	for i, e := range l.Elts {
		if i != first {
			d.diagnoseIfInvalid(loc.item(i, l.Elts[first:first+1], nil), e)
		}
	}
}
