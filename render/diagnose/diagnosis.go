package diagnose

import (
	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
	"github.com/pequod-io/pequod/internal/source/fieldpath"
)

// Eval returns the input of a module for an instance's metadata and spec: the
// schema unified with the data.
type Eval func(data *ast.StructLit) cue.Value

// diagnosis is one walk over an instance. It is used once.
type diagnosis struct {
	root cue.Value      // the module
	data *ast.StructLit // metadata and spec of the instance
	eval Eval

	problems problem.List
	// unsettled are problems of values that CUE can't decide although none of
	// their fields is missing. They follow from other mistakes, and are
	// reported only if there are none.
	unsettled    problem.List
	dependencies dependencyIndex
	// moduleCost and spent measure evaluations; see trial.go. moduleCost is 0
	// until it is first needed.
	moduleCost, spent int
}

// add reports a problem at a path of the instance. related is the position of
// the broken rule in the module.
func (d *diagnosis) add(path, rule string, related problem.Position, message, hint string) {
	d.problems = append(d.problems, problem.Problem{
		Position: cuesyntax.PositionAt(d.data, fieldpath.Split(path)), Path: path, Rule: rule,
		Message: message, Hint: hint, Related: related,
	})
}

// schemaPosition returns the position of a schema in the module, or the zero
// Position. A conjunction has no position of its own, so the first of its
// operands that has one counts.
func (d *diagnosis) schemaPosition(schema cue.Value) problem.Position {
	if at := d.positionOutside(schema.Pos()); at.File != "" || !schema.Exists() {
		return at
	}
	if op, args := schema.Expr(); op == cue.AndOp {
		for _, a := range args {
			if at := d.schemaPosition(a); at.File != "" {
				return at
			}
		}
	}
	return problem.Position{}
}

// positionOutside converts a position, and returns the zero Position for one in
// the instance itself, which is not the position of a rule.
func (d *diagnosis) positionOutside(p token.Pos) problem.Position {
	at := cuesyntax.Position(p)
	if at.File == d.data.Lbrace.Position().Filename {
		return problem.Position{}
	}
	return at
}

// build evaluates an expression in the context of the module.
func (d *diagnosis) build(e ast.Expr) cue.Value {
	//lint:ignore SA1019 the value is only combined with values of the same context
	return d.root.Context().BuildExpr(e)
}
