package reference

import (
	"github.com/google/cel-go/common/ast"
)

// mix gives the elements of list literals and the values of map literals the type dyn, so that an
// expression may build an object whose fields have different types. Kubernetes' environment refuses
// such literals.
func mix(tree *ast.AST) {
	nextID, factory := ast.MaxID(tree), ast.NewExprFactory()
	dyn := func(e ast.Expr) ast.Expr {
		nextID++
		position, _ := tree.SourceInfo().GetOffsetRange(e.ID())
		tree.SourceInfo().SetOffsetRange(nextID, position)
		return factory.NewCall(nextID, "dyn", e)
	}
	ast.PostOrderVisit(tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.ListKind:
			l := e.AsList()
			if len(l.OptionalIndices()) > 0 || l.Size() < 2 {
				return
			}
			var elements []ast.Expr
			for _, element := range l.Elements() {
				elements = append(elements, dyn(element))
			}
			e.SetKindCase(factory.NewList(e.ID(), elements, nil))
		case ast.MapKind:
			var entries []ast.EntryExpr
			for _, entry := range e.AsMap().Entries() {
				m := entry.AsMapEntry()
				if m.IsOptional() {
					return
				}
				entries = append(entries, factory.NewMapEntry(entry.ID(), m.Key(), dyn(m.Value()), false))
			}
			if len(entries) > 1 {
				e.SetKindCase(factory.NewMap(e.ID(), entries))
			}
		}
	}))
}
