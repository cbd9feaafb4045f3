package syntax

import (
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"
)

// Walk visits n and what is inside it, in the order of the source. S is the
// visitor's knowledge about the location of a node, such as the path that leads to
// it. visit gets the S of the node and returns the S of the nodes inside it. If it
// returns false, they are skipped.
//
// A visitor that needs different values of S inside of one node calls Walk itself for
// the parts, and returns false.
func Walk[S any](n ast.Node, at S, visit func(n ast.Node, at S) (inside S, ok bool)) {
	places := []S{at}
	ast.Walk(n, func(n ast.Node) bool {
		inside, ok := visit(n, places[len(places)-1])
		if ok {
			places = append(places, inside)
		}
		return ok
	}, func(ast.Node) { places = places[:len(places)-1] })
}

// Operands returns the operands of a chain of the binary operator op, without
// parentheses around them. Of any other expression it returns the expression itself.
// Default marks are kept.
func Operands(e ast.Expr, op token.Token) []ast.Expr {
	switch x := e.(type) {
	case *ast.ParenExpr:
		return Operands(x.X, op)
	case *ast.BinaryExpr:
		if x.Op == op {
			return append(Operands(x.X, op), Operands(x.Y, op)...)
		}
	}
	return []ast.Expr{e}
}
