package reference

import (
	"github.com/google/cel-go/common/ast"
)

// loosen gives the elements that macros loop over the type dyn, if the expression
// itself builds the list or map, by converting that with dyn(). The elements of
// other lists are dyn anyway, because objects are.
//
// Otherwise each macro could multiply the size of a type: that of
// [0].map(x, {x: x}).map(x, {x: x}) doubles with each map, and the type checker
// writes types out. With loosen, no type is larger than the expression, because
// each part of a type stems from another part of the expression.
func loosen(tree *ast.AST) {
	nextID, factory := ast.MaxID(tree), ast.NewExprFactory()
	dyn := func(e ast.Expr) ast.Expr {
		if !builds(e) {
			return e
		}
		nextID++
		position, _ := tree.SourceInfo().GetOffsetRange(e.ID())
		tree.SourceInfo().SetOffsetRange(nextID, position)
		return factory.NewCall(nextID, "dyn", e)
	}
	ast.PostOrderVisit(tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.ComprehensionKind {
			return
		}
		c := e.AsComprehension()
		// The macros optMap and optFlatMap bind their variable as the accumulator;
		// those of all others begin with a constant or an empty list or map.
		e.SetKindCase(factory.NewComprehensionTwoVar(e.ID(), dyn(c.IterRange()), c.IterVar(), c.IterVar2(),
			c.AccuVar(), dyn(c.AccuInit()), c.LoopCondition(), c.LoopStep(), c.Result()))
	}))
}

// builds reports whether an expression contains a macro, or a list or map literal
// that isn't empty.
func builds(e ast.Expr) bool {
	found := false
	ast.PreOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.ListKind:
			found = found || e.AsList().Size() > 0
		case ast.MapKind:
			found = found || e.AsMap().Size() > 0
		case ast.ComprehensionKind:
			found = true
		}
	}))
	return found
}
