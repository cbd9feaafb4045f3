package vet

import (
	"slices"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"

	"github.com/pequod-io/pequod/internal/schema/syntax"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
)

// resolver finds out what expressions of a definition, #Render or #Policy, read of its
// input. It relies on CUE's own resolution of names.
type resolver struct {
	// input is the schema of the input.
	input schema
	// values are CUE's own schemas of the input: one for a module, and one for each
	// platform for a policy.
	values []cue.Value
	// declared has the values that the definition gives its field input. A name that
	// refers to one of them stands for the input.
	declared map[ast.Node]bool
	// following has the expressions to which names were followed, because fields may
	// refer to each other in a circle. Every recursion works on a copy.
	following []ast.Node
}

// read returns the part of the input's schema that an expression stands for. It
// returns false for expressions that are not part of the input. A field or a let
// clause stands for what its own expression reads, and the variable of a loop for the
// items of its source.
func (r resolver) read(e ast.Expr) (schema, bool) {
	switch x := e.(type) {
	case *ast.ParenExpr:
		return r.read(x.X)
	case *ast.Ident:
		if r.declared[x.Node] {
			return r.input, true
		}
		if loop, ok := x.Scope.(*ast.ForClause); ok && x.Node == loop.Value {
			if of, ok := r.read(loop.Source); ok {
				return of.item()
			}
		}
		if bound, r, ok := r.follow(x); ok {
			return r.read(bound)
		}
	case *ast.SelectorExpr, *ast.IndexExpr:
		from, name, named := selection(e)
		if of, ok := r.read(from); ok && named {
			return of.field(name)
		} else if ok {
			return of.item()
		}
	}
	return schema{}, false
}

// selection splits a selector or an index expression into the expression from which it
// selects and the name of the field. It returns false for an index that is no string
// literal.
func selection(e ast.Expr) (from ast.Expr, name string, named bool) {
	switch x := e.(type) {
	case *ast.SelectorExpr:
		name, named = syntax.StaticName(x.Sel)
		return x.X, name, named
	case *ast.IndexExpr:
		name, named = cuesyntax.Text(x.Index)
		return x.X, name, named
	}
	return nil, "", false
}

// follow returns the expression to which a name is bound, by a field, an alias or a
// let clause, and a resolver for it.
func (r resolver) follow(id *ast.Ident) (ast.Expr, resolver, bool) {
	bound, _ := id.Node.(ast.Expr)
	switch scope := id.Scope.(type) {
	case *ast.ForClause:
		return nil, r, false
	case *ast.LetClause:
		bound = scope.Expr
	}
	switch x := id.Node.(type) {
	case *ast.LetClause:
		bound = x.Expr
	case *ast.Alias:
		bound = x.Expr
	case *ast.Field:
		bound = x.Value
	}
	if bound == nil || slices.Contains(r.following, ast.Node(bound)) {
		return nil, r, false
	}
	r.following = append(slices.Clone(r.following), bound)
	return bound, r, true
}

// visitReads calls visit for everything that an expression reads of the input,
// directly or through names.
func (r resolver) visitReads(n ast.Node, visit func(schema)) {
	ast.Walk(n, func(n ast.Node) bool {
		e, ok := n.(ast.Expr)
		if !ok {
			return true
		}
		if of, ok := r.read(e); ok {
			visit(of)
			return false
		}
		if id, ok := e.(*ast.Ident); ok {
			if bound, r, ok := r.follow(id); ok {
				r.visitReads(bound, visit)
			}
		}
		return true
	}, nil)
}

// valueAt returns CUE's own value at a path of the input, for messages. It does not
// exist in a disjunction.
func (r resolver) valueAt(path []element) cue.Value {
	for _, v := range r.values {
		for _, e := range path {
			regular, other := cue.Str(e.field), cue.Str(e.field).Optional()
			if e.item {
				regular, other = cue.AnyIndex, cue.AnyString
			}
			of := v
			if v = of.LookupPath(cue.MakePath(regular)); !v.Exists() {
				v = of.LookupPath(cue.MakePath(other))
			}
		}
		if v.Exists() {
			return v
		}
	}
	return cue.Value{}
}
