package render

import (
	"slices"

	"cuelang.org/go/cue/ast"
)

// Small pieces of CUE syntax for data that came from YAML. Data enters
// evaluation as syntax because only syntax carries positions.

// without gives the fields that aren't among others.
func without(fields, others []*ast.Field) []*ast.Field {
	return filter(fields, func(f *ast.Field) bool { return !slices.Contains(others, f) })
}

func filter[T any](list []T, keep func(T) bool) []T {
	var kept []T
	for _, x := range list {
		if keep(x) {
			kept = append(kept, x)
		}
	}
	return kept
}
