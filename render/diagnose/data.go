package diagnose

import (
	"slices"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"
)

// dataKind returns the kind of a value of the instance. An expression that is no
// literal has TopKind, so that every schema may admit it.
func dataKind(e ast.Expr) cue.Kind {
	switch x := e.(type) {
	case *ast.StructLit:
		return cue.StructKind
	case *ast.ListLit:
		return cue.ListKind
	case *ast.BasicLit:
		switch x.Kind {
		case token.STRING:
			return cue.StringKind
		case token.INT:
			return cue.IntKind
		case token.FLOAT:
			return cue.FloatKind
		case token.NULL:
			return cue.NullKind
		case token.TRUE, token.FALSE:
			return cue.BoolKind
		}
	}
	return cue.TopKind
}

// isScalar reports whether a value is a string, a number or a boolean.
func isScalar(e ast.Expr) bool {
	return dataKind(e)&(cue.StructKind|cue.ListKind|cue.NullKind) == 0
}

// without returns the fields that are not among others.
func without(fields, others []*ast.Field) []*ast.Field {
	return filter(fields, func(f *ast.Field) bool { return !slices.Contains(others, f) })
}

// filter returns the elements of a list for which keep is true.
func filter[T any](list []T, keep func(T) bool) []T {
	var kept []T
	for _, x := range list {
		if keep(x) {
			kept = append(kept, x)
		}
	}
	return kept
}
