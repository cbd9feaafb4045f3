package syntax

import (
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/format"
	"cuelang.org/go/cue/parser"
)

// Unresolved returns a copy of e with unresolved identifiers, so that CUE resolves
// them again in the scope in which the copy is compiled. The copy is parsed from
// the text of e. Its positions are in a file of their own, which is named after
// the position of e, so that [Key] stays unique.
func Unresolved(e ast.Expr) (ast.Expr, error) {
	text, err := format.Node(e)
	if err != nil {
		return nil, err
	}
	return parser.ParseExpr(Key(e), text)
}
