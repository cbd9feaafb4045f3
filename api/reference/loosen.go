package reference

import (
	"strings"

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

// maxPlain is the maximum number of names of a plain path, far below the limits of
// CEL's parser.
const maxPlain = 20

// plain returns the expression of a path of fields of a node, such as
// service.spec.clusterIP, or nil for other expressions and for those with mistakes. The
// expression is the one that a compilation would return: fields of nodes have the type
// dyn, so there is nothing to check. Most late references are plain paths. A graph that
// has no others is read without CEL, whose environment and parser take 8 % of the CPU
// time of rendering one instance.
func (s *NodeSet) plain(expr string) *Expression {
	names := strings.SplitN(expr, ".", maxPlain+1)
	if len(names) < 2 || len(names) > maxPlain || checkSource(expr) != nil || !s.known[names[0]] || !Bare(names[0]) {
		return nil
	}
	path := make(Path, len(names))
	for i, name := range names {
		if !identifier().MatchString(name) {
			return nil
		}
		switch name {
		case "false", "in", "null", "true": // not even the name of a field
			return nil
		}
		path[i] = name
	}
	return &Expression{
		source: expr, scope: s, nodes: names[:1:1], selects: []Path{path},
		cost: checkCost(count{nodes: len(names)}, 0),
	}
}
