package read

import (
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"
	"github.com/pequod-io/pequod/internal/schema/syntax"
	"github.com/pequod-io/pequod/internal/schema/translate"
)

// sharing looks for the fields that an expression is equal to. CUE unifies one
// with what the other is before it takes a default, so that such a field's default
// can't be in the schema: it would be taken for the instance's word. Operators and
// functions of a field take its default, wherever it comes from.
type sharing struct {
	in context
	// seen are the declarations that were followed.
	seen map[ast.Node]bool
	// ofItems says that it is the items of lists that something is equal to.
	ofItems bool
}

// share notes the fields that n is equal to, or that something in n is.
func (r *reader) share(in context, n ast.Node) { sharing{in: in, seen: map[ast.Node]bool{}}.visit(n) }

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
			return false // what they declare is followed where it is used
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
			// Hidden fields and definitions have names, but not in an instance.
			if !s.field(x) || strings.HasPrefix(x.Name, "_") || strings.HasPrefix(x.Name, "#") {
				s.follow(x)
			}
			return false
		}
		return true
	}, nil)
}

// field notes the field that e names, if it names one.
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

// items looks into lists of whose items one is meant, or all.
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

// follow looks into what id stands for besides a field of the instance.
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
