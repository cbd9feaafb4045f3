package read

import (
	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"

	"github.com/pequod-io/pequod/internal/schema/syntax"
)

// build compiles an expression that names no field of the instance. It reports
// false if the expression means something else, or nothing, outside of its
// position. It compiles in the scope of the definition, so references to
// package-level names work. A reference to a field that e itself declares is
// fine, too.
func (r *reader) build(e ast.Expr) (cue.Value, bool) {
	ok := true
	ast.Walk(e, func(n ast.Node) bool {
		if id, isIdent := n.(*ast.Ident); isIdent && id.Node != nil {
			switch id.Scope.(type) {
			case nil, *ast.File:
				// A field of the definition with this name would be found
				// first.
				ok = ok && !r.input.LookupPath(cue.MakePath(selectorOf(id.Name))).Exists() &&
					!r.input.LookupPath(cue.MakePath(selectorOf(id.Name).Optional())).Exists()
			case *ast.StructLit:
				ok = ok && syntax.Contains(e, id.Node)
			default:
				ok = false
			}
		}
		return ok
	}, nil)
	if !ok {
		return cue.Value{}, false
	}
	unresolved, err := syntax.Unresolved(e)
	if err != nil {
		return cue.Value{}, false
	}
	//lint:ignore SA1019 a scope is of use in its own context only
	v := r.input.Context().BuildExpr(unresolved, cue.Scope(r.input), cue.InferBuiltins(true))
	return v, v.Exists()
}

// selectorOf returns the selector for an identifier.
func selectorOf(name string) cue.Selector {
	switch {
	case len(name) > 0 && name[0] == '#':
		return cue.Def(name)
	case len(name) > 0 && name[0] == '_':
		return cue.Hid(name, "_")
	}
	return cue.Str(name)
}
