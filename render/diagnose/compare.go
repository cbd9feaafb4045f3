package diagnose

import (
	"fmt"
	"strings"

	"cuelang.org/go/cue/ast"
	cueerrors "cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/token"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
	"github.com/pequod-io/pequod/internal/source/fieldpath"
)

// comparedField returns the path of the field that a bound refers to, such as
// spec.scale.min for the rule `max: >=min`, or "". e is an error about the value at
// path, and rule the position of the bound in the module.
//
// CUE's error has only the value of the bound. So the field counts only if the
// bound in the module is a name, and the innermost struct of the instance around
// path that has a field of this name has that value in it. A field that the
// instance leaves out is not found.
func (d *diagnosis) comparedField(e cueerrors.Error, path string, rule problem.Position) string {
	format, args := e.Msg()
	if !strings.HasPrefix(format, outOfBoundFormat) {
		return ""
	}
	bound := d.boundAt(rule)
	if bound == nil {
		return ""
	}
	name := referredField(bound.X)
	var other, prefix string
	var value ast.Expr
	var at ast.Expr = d.data
	for _, part := range fieldpath.Split(path) {
		switch x := at.(type) {
		case *ast.StructLit:
			if f := cuesyntax.Field(x, name); f != nil {
				other, value = fieldpath.Join(prefix, name), f.Value
			}
			prefix, at = fieldpath.Join(prefix, part), nil
			if f := cuesyntax.Field(x, part); f != nil {
				at = f.Value
			}
		case *ast.ListLit:
			prefix, at = prefix+"["+part+"]", cuesyntax.Item(x, part)
		}
	}
	if value == nil || other == path || fmt.Sprint(args[1]) != bound.Op.String()+quoteValue(value) {
		return ""
	}
	return other
}

// boundAt returns the bound at a position of the module, such as `>=min`, or nil.
func (d *diagnosis) boundAt(at problem.Position) (bound *ast.UnaryExpr) {
	for _, f := range filesOf(d.root) {
		ast.Walk(f, func(n ast.Node) bool {
			if u, ok := n.(*ast.UnaryExpr); ok && isOrder(u.Op) && cuesyntax.Position(u.Pos()) == at {
				bound = u
			}
			return bound == nil
		}, nil)
	}
	return bound
}

// isOrder reports whether a bound with this operator orders values. The messages
// of other bounds don't have the bound's value.
func isOrder(op token.Token) bool {
	return op == token.LSS || op == token.LEQ || op == token.GTR || op == token.GEQ
}

// referredField returns the name of the field that an expression is a reference to,
// or "".
func referredField(e ast.Expr) string {
	switch x := e.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		return cuesyntax.LabelName(x.Sel)
	}
	return ""
}
