package crd

import (
	"regexp/syntax"
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/token"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
	"github.com/pequod-io/pequod/render"
)

// badPatterns returns the regular expressions of a module that RE2, the syntax of
// CUE, Go and the API server, refuses. CUE finds them only when it compares a
// string with them, and then takes the string for the mistake.
func badPatterns(m *render.Module) problem.List {
	var all problem.List
	check := func(e ast.Expr) {
		lit, ok := e.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return
		}
		text, err := literal.Unquote(lit.Value)
		if err != nil {
			return
		}
		if _, err := syntax.Parse(text, syntax.Perl); err != nil {
			all = append(all, problem.Problem{
				Position: cuesyntax.Position(lit.Pos()), Rule: problem.RuleModule,
				Message: lit.Value + " is not a regular expression (RE2): " + strings.TrimPrefix(err.Error(), "error parsing regexp: "),
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
			}
			return true
		}, nil)
	}
	return all.Sorted()
}
