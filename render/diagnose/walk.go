package diagnose

import (
	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"

	"github.com/pequod-io/pequod/internal/source/cuesyntax"
)

// walk visits the whole instance. It recovers panics: overBudget is that of the
// budget, and panicked the value of any other, since CUE itself may panic on
// values that are wrong in ways it does not expect.
func (d *diagnosis) walk() (overBudget bool, panicked any) {
	defer func() {
		switch p := recover(); p.(type) {
		case nil:
		case budgetExceeded:
			overBudget = true
		default:
			panicked = p
		}
	}()
	d.diagnoseValue(location{wrap: func(e ast.Expr) *ast.StructLit {
		if s, ok := e.(*ast.StructLit); ok {
			return s
		}
		return &ast.StructLit{}
	}}, cue.Value{}, d.data)
	return false, nil
}

// diagnoseValue reports every mistake in the value e at a location. schema is the
// schema at the location if the caller knows it, else the zero Value.
//
// It goes from the outside to the inside, and stops where a mistake makes
// everything below it meaningless:
//
// 1. A value of the wrong kind is one problem.
//
// 2. A scalar is judged alone.
//
// 3. The fields of a struct and the items of a list are diagnosed one by one.
//
// 4. If none of them has a problem, the error of the struct or list itself is
// reported.
func (d *diagnosis) diagnoseValue(loc location, schema cue.Value, e ast.Expr) {
	if !schema.Exists() {
		schema = d.try(loc, cuesyntax.Any())
	}
	if !schema.Exists() {
		return // in a union whose branch is not known
	}
	// A value of the wrong kind is one mistake; what is inside it does not matter.
	if kinds := schemaKinds(schema); kinds != cue.BottomKind && kinds&dataKind(e) == 0 {
		d.addWrongType(schema, kinds, e, loc.path)
		return
	}
	if _, ok := e.(*ast.BasicLit); ok && schemaKinds(schema) != cue.BottomKind {
		d.addScalar(schema, e, loc.path)
		return
	}
	// If nothing inside the value is wrong, the value as a whole is: it breaks a
	// validator such as list.MaxItems.
	before := len(d.problems)
	v := d.try(loc, e)
	switch x := e.(type) {
	case *ast.StructLit:
		d.diagnoseStruct(loc, v, x)
	case *ast.ListLit:
		d.diagnoseList(loc, schema, v, x)
	}
	if len(d.problems) == before {
		d.addConstraint(v, e, loc.path, schema)
	}
}

// diagnoseIfInvalid is diagnoseValue for a value that may be valid and
// complete.
func (d *diagnosis) diagnoseIfInvalid(loc location, e ast.Expr) {
	if !isComplete(d.try(loc, e)) {
		d.diagnoseValue(loc, cue.Value{}, e)
	}
}
