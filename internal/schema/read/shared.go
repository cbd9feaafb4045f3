package read

import (
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"

	"github.com/pequod-io/pequod/internal/schema/syntax"
	"github.com/pequod-io/pequod/internal/schema/translate"
)

// sharing finds the fields that an expression is equal to. CUE unifies an
// expression with such a field before it takes a default, so the CRD can't have
// the field's default: it would look as if the instance had set the field.
// Operators and functions use the default of a field wherever it comes from. For
// {a: *1 | int, b: a} an instance with b: 2 is valid, because b is (*1 | int) &
// 2. If the API server set a to 1 first, b would be 1 & 2, a conflict.
type sharing struct {
	// in is the position of the expression.
	in context
	// seen are the declarations that were followed, against endless loops.
	seen map[ast.Node]bool
	// ofItems means that the expression is equal to the items of a list.
	ofItems bool
}

// share records, in their frames, the fields that n or something in n is equal
// to.
func share(in context, n ast.Node) { sharing{in: in, seen: map[ast.Node]bool{}}.visit(n) }

// visit looks for references in n that make n equal to what they name. Only
// operators and calls that unify or choose make a value equal to an operand: &,
// |, the mark *, or, and, matchN, matchIf and close.
func (s sharing) visit(n ast.Node) {
	if syntax.IsNil(n) {
		return
	}
	ast.Walk(n, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.BinaryExpr:
			return x.Op == token.AND || x.Op == token.OR
		case *ast.UnaryExpr:
			return x.Op == token.MUL
		case *ast.Interpolation:
			return false
		case *ast.CallExpr:
			name, _ := syntax.CalleeName(x)
			if name == "or" || name == "and" {
				s.items(x.Args)
				return false
			}
			return slices.Contains([]string{"matchN", "matchIf", "close"}, name)
		case *ast.Field:
			s.visit(x.Value)
			return false
		case *ast.LetClause, *ast.ForClause, *ast.IfClause:
			return false // declarations are followed where they are used
		case *ast.SelectorExpr:
			if !s.field(x) {
				s.visit(x.X)
			}
			return false
		case *ast.IndexExpr:
			if !s.field(x) {
				s.visit(x.X)
			}
			return false
		case *ast.Ident:
			// Hidden fields and definitions are no fields of an instance, but
			// may refer to some.
			if !s.field(x) || strings.HasPrefix(x.Name, "_") || strings.HasPrefix(x.Name, "#") {
				s.follow(x)
			}
			return false
		}
		return true
	}, nil)
}

// field records the field that e names, if it names one. It names one if a
// literal of one of the frames declares it.
func (s sharing) field(e ast.Expr) bool {
	found := false
	for _, f := range s.in.frames {
		if path, ok := f.PathOf(e, s.in.segments); ok {
			f.Shared = append(f.Shared, translate.Shared{Path: path, Items: s.ofItems})
			found = true
		}
	}
	return found
}

// items visits lists whose items the expression is equal to. A list literal has
// its items in the source; for any other list the frame records that only the
// items are shared.
func (s sharing) items(lists []ast.Expr) {
	for _, e := range lists {
		if _, ok := syntax.Expression(e).(*ast.ListLit); ok {
			s.visit(e)
			continue
		}
		of := s
		of.ofItems = true
		of.visit(e)
	}
}

// follow visits the declaration of id, which is no field of the instance. A let
// leads to its expression, and the variable of a for to its source.
func (s sharing) follow(id *ast.Ident) {
	if id.Node == nil || s.seen[id.Node] {
		return
	}
	s.seen[id.Node] = true
	if loop, ok := id.Scope.(*ast.ForClause); ok {
		s.visit(loop.Source)
		return
	}
	switch x := id.Node.(type) {
	case *ast.LetClause:
		s.visit(x.Expr)
	case *ast.ImportSpec:
	default:
		s.visit(syntax.Expression(x))
	}
}
