package crd

import (
	"regexp/syntax"
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
	"github.com/pequod-io/pequod/render"
)

// badPatterns returns the regular expressions of a module that RE2, the syntax of
// CUE, Go and the API server, refuses: the literals in comparisons and in calls of
// package regexp. CUE finds them only when it compares a string with them, and then
// takes the string for the mistake.
func badPatterns(m *render.Module) problem.List {
	var all problem.List
	check := func(e ast.Expr) {
		text, ok := cuesyntax.Text(e)
		if !ok {
			return
		}
		if _, err := syntax.Parse(text, syntax.Perl); err != nil {
			all = append(all, problem.Problem{
				Position: cuesyntax.Position(e.Pos()), Rule: problem.RuleModule,
				Message: e.(*ast.BasicLit).Value + " is not a regular expression (RE2): " + strings.TrimPrefix(err.Error(), "error parsing regexp: "),
			})
		}
	}
	matches := []token.Token{token.MAT, token.NMAT}
	for _, file := range m.Files() {
		ast.Walk(file, func(n ast.Node) bool {
			switch x := n.(type) {
			case *ast.UnaryExpr:
				if slices.Contains(matches, x.Op) {
					check(x.X)
				}
			case *ast.BinaryExpr:
				if slices.Contains(matches, x.Op) {
					check(x.Y)
				}
			case *ast.CallExpr:
				// With fewer arguments it is a validator, QuoteMeta or Valid.
				if isRegexpCall(x) && len(x.Args) > 1 {
					check(x.Args[0])
				}
			}
			return true
		}, nil)
	}
	return all.Sorted()
}

// isRegexpCall reports whether x calls a function of CUE's package regexp, by any name
// of the import.
func isRegexpCall(x *ast.CallExpr) bool {
	fun, ok := x.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	pkg, ok := fun.X.(*ast.Ident)
	if !ok {
		return false
	}
	spec, ok := pkg.Node.(*ast.ImportSpec)
	if !ok {
		return false
	}
	path, ok := cuesyntax.Text(spec.Path)
	return ok && path == "regexp"
}
