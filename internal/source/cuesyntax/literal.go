package cuesyntax

import (
	"maps"
	"slices"
	"strconv"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/token"
)

// String returns a string literal.
func String(s string, pos token.Pos) *ast.BasicLit {
	return &ast.BasicLit{ValuePos: pos, Kind: token.STRING, Value: literal.String.Quote(s)}
}

// Bool returns a boolean literal.
func Bool(b bool, pos token.Pos) *ast.BasicLit {
	if b {
		return &ast.BasicLit{ValuePos: pos, Kind: token.TRUE, Value: "true"}
	}
	return &ast.BasicLit{ValuePos: pos, Kind: token.FALSE, Value: "false"}
}

// Label returns the label of a regular field. It is always quoted, so that data
// can't name a hidden field or a definition.
func Label(name string, pos token.Pos) ast.Label { return String(name, pos) }

// Text returns the value of a string literal. It returns false for any other
// expression.
func Text(e ast.Expr) (string, bool) {
	l, ok := e.(*ast.BasicLit)
	if !ok || l.Kind != token.STRING {
		return "", false
	}
	s, err := literal.Unquote(l.Value)
	return s, err == nil
}

// Any returns `_`, which admits every value. It stands for a value that is not
// given.
func Any() ast.Expr { return ast.NewIdent("_") }

// Data returns a decoded JSON value (map[string]any, []any, string, bool,
// int64, float64 or nil) as syntax without positions. Keys are sorted.
func Data(v any) ast.Expr {
	switch x := v.(type) {
	case map[string]any:
		s := &ast.StructLit{}
		for _, name := range slices.Sorted(maps.Keys(x)) {
			s.Elts = append(s.Elts, &ast.Field{Label: Label(name, token.NoPos), Value: Data(x[name])})
		}
		return s
	case []any:
		l := &ast.ListLit{}
		for _, item := range x {
			l.Elts = append(l.Elts, Data(item))
		}
		return l
	case string:
		return String(x, token.NoPos)
	case bool:
		return Bool(x, token.NoPos)
	case int64:
		return ast.NewLit(token.INT, strconv.FormatInt(x, 10))
	case float64:
		return Number(strconv.FormatFloat(x, 'g', -1, 64))
	}
	return ast.NewNull()
}
