package diagnose

import (
	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"

	"github.com/pequod-io/pequod/internal/source/cuesyntax"
)

// diagnoseIncomplete reports the fields that are missing inside a value that is
// valid so far. v is the value e unified with its schema. Only if no field
// explains the error is the value itself reported.
func (d *diagnosis) diagnoseIncomplete(loc location, v cue.Value, e ast.Expr) {
	if isComplete(v) {
		return
	}
	before := len(d.problems)
	switch x := e.(type) {
	case *ast.StructLit:
		if len(alternatives(v)) > 1 {
			d.diagnoseValue(loc, cue.Value{}, e) // the branch that was meant decides what is missing
			return
		}
		d.addMissingFields(loc, v, x, nil)
		for _, f := range cuesyntax.Fields(x) {
			d.diagnoseIncomplete(loc.field(cuesyntax.Fields(x), cuesyntax.LabelName(f.Label)), fieldValue(v, f), f.Value)
		}
	case *ast.ListLit:
		for i, item := range x.Elts {
			d.diagnoseIncomplete(loc.item(i, x.Elts[:i], x.Elts[i+1:]), v.LookupPath(cue.MakePath(cue.Index(i))), item)
		}
	}
	if len(d.problems) == before {
		d.addConstraint(v, e, loc.path, v)
	}
}
