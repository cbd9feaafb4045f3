package render

import (
	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"

	"github.com/pequod-io/pequod/internal/problem"
)

// ValuePos is where a value is written. Where a module unifies it with a schema,
// such as that of module init, CUE mostly names the schema's line; its author
// looks for the other.
func ValuePos(v cue.Value) problem.Position {
	if op, args := v.Expr(); op == cue.AndOp {
		for _, a := range args {
			if p := posOf(authored(a.Source())); p.File != "" {
				return p
			}
		}
	}
	return posOf(v.Pos())
}

// authored gives the place of syntax that holds a value, not what may be one.
func authored(n ast.Node) token.Pos {
	switch x := n.(type) {
	case *ast.Field:
		if _, pattern := x.Label.(*ast.ListLit); !pattern && x.Constraint == token.ILLEGAL {
			return x.Value.Pos()
		}
	case *ast.StructLit, *ast.ListLit, *ast.BasicLit, *ast.Interpolation:
		return n.Pos()
	}
	return token.NoPos
}
