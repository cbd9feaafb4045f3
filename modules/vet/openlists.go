package vet

import (
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/token"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/schema/syntax"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
)

// openLists warns about lists in the schema whose items accept any field although
// they look closed. CUE does not close a struct literal in a list that is unified
// with a validator, as in [...{name: string}] & list.MaxItems(9). A misspelled
// field of such an item would be accepted without an error.
//
// #Render is skipped: its lists are output, not schema.
func openLists(inst *build.Instance) problem.List {
	var found problem.List
	for _, f := range inst.Files {
		for _, d := range f.Decls {
			if _, isField := d.(*ast.Field); !isField || cuesyntax.FieldName(d) == "#Render" {
				continue
			}
			ast.Walk(d, func(n ast.Node) bool {
				b, ok := n.(*ast.BinaryExpr)
				if !ok || b.Op != token.AND {
					return true
				}
				if s := openItem(b); s != nil {
					found = append(found, problem.Problem{
						Position: cuesyntax.Position(s.Pos()), Rule: problem.RuleModule, Severity: problem.Warning,
						Message: "items may have fields that aren't named here: beside a validator of lists CUE doesn't close the struct",
						Hint:    "name it, as in [...#Item] & list.MaxItems(9)",
					})
					return false
				}
				return true
			}, nil)
		}
	}
	return found
}

// openItem returns the item struct of a list that CUE does not close, or nil. The
// conjunction b must have a list with an ellipsis, [...T], and a validator from
// the package list. T, or one of the alternatives of T, must be a struct literal:
// a reference such as #Item stays closed.
func openItem(b *ast.BinaryExpr) ast.Expr {
	var item ast.Expr
	validated := false
	for _, e := range syntax.Operands(b, token.AND) {
		switch x := e.(type) {
		case *ast.ListLit:
			for _, elt := range x.Elts {
				if rest, ok := elt.(*ast.Ellipsis); ok && rest.Type != nil {
					item = rest.Type
				}
			}
		case *ast.CallExpr:
			validated = validated || isOfList(x.Fun)
		default:
			validated = validated || isOfList(e)
		}
	}
	if !validated || item == nil {
		return nil
	}
	for _, e := range syntax.Operands(item, token.OR) {
		if u, ok := e.(*ast.UnaryExpr); ok && u.Op == token.MUL {
			e = u.X
		}
		if s, ok := e.(*ast.StructLit); ok && closedByItself(s) {
			return s
		}
	}
	return nil
}

// isOfList reports whether an expression selects from the package list, as
// list.MaxItems does. It goes by the usual name of the import.
func isOfList(e ast.Expr) bool {
	s, ok := e.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	pkg, ok := s.X.(*ast.Ident)
	return ok && pkg.Name == "list"
}

// closedByItself reports whether a struct looks closed: it has no ellipsis, and no
// embedded value that could open it.
func closedByItself(s *ast.StructLit) bool {
	for _, d := range s.Elts {
		switch d.(type) {
		case *ast.Ellipsis, *ast.EmbedDecl:
			return false
		}
	}
	return true
}
