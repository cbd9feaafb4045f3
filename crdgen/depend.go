package crdgen

import (
	"strconv"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"
)

// A schema's expressions may refer to other fields of the instance. The values
// that CUE evaluates them to, with the schema alone, are then not the values
// that they have in an instance: defaults stand in for what the instance says.
// This file tells from the source which expressions those are.

// expression is the expression of a value's source.
func expression(n ast.Node) ast.Expr {
	switch x := n.(type) {
	case *ast.Field:
		return expression(x.Value)
	case *ast.EmbedDecl:
		return expression(x.Expr)
	case *ast.Alias:
		return expression(x.Expr)
	case *ast.ParenExpr:
		return expression(x.X)
	case ast.Expr:
		return x
	}
	return nil
}

// dependsOnInput says whether n itself refers to fields of the instance. The
// fields of struct literals in n are not looked into: they are read one by one.
func dependsOnInput(n ast.Node) bool {
	return references{fieldsOf: false, bounds: true}.in(n)
}

// valueDependsOnInput says whether the value of n may come from fields of the
// instance outside n.
func valueDependsOnInput(n ast.Node) bool {
	return references{fieldsOf: true, within: n}.in(n)
}

// anyDependsOnInput says whether anything in n refers to fields of the instance
// outside n.
func anyDependsOnInput(n ast.Node) bool {
	return references{fieldsOf: true, bounds: true, within: n}.in(n)
}

// anyFieldRefers says whether anything in n refers to a field of the instance,
// also to one in n.
func anyFieldRefers(n ast.Node) bool {
	return references{fieldsOf: true, bounds: true}.in(n)
}

// references looks for references to fields of the instance.
type references struct {
	// fieldsOf says whether to look into the fields of struct literals.
	fieldsOf bool
	// bounds says whether to look into the operands of bounds.
	bounds bool
	// within, where set, is what references may point into.
	within ast.Node
	// seen are the definitions that were followed.
	seen map[ast.Node]bool
}

func (r references) in(n ast.Node) bool {
	if isNil(n) {
		return false
	}
	if r.seen == nil {
		r.seen = map[ast.Node]bool{}
	}
	found := false
	ast.Walk(n, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.Ident:
			found = found || r.ident(x)
		case *ast.StructLit:
			if !r.fieldsOf {
				found = found || r.embeddings(x)
				return false
			}
		case *ast.UnaryExpr:
			switch x.Op {
			case token.LSS, token.LEQ, token.GTR, token.GEQ, token.NEQ, token.MAT, token.NMAT:
				return !found && r.bounds
			}
		}
		return !found
	}, nil)
	return found
}

// embeddings looks into what a struct literal embeds.
func (r references) embeddings(lit *ast.StructLit) bool {
	for _, d := range lit.Elts {
		if e, ok := d.(*ast.EmbedDecl); ok && r.in(e.Expr) {
			return true
		}
	}
	return false
}

// ident says whether id stands for a field of the instance: for a regular field
// that isn't at the top of its file. Definitions, hidden fields, lets and the
// variables of comprehensions are followed to their own expressions.
func (r references) ident(id *ast.Ident) bool {
	if id.Node == nil {
		return id.Name == "self" || id.Name == "__self"
	}
	if r.within != nil && contains(r.within, id.Node) {
		return false
	}
	switch scope := id.Scope.(type) {
	case nil, *ast.File:
		// An import, or a name of the package.
		return false
	case *ast.ForClause:
		return r.follow(scope.Source)
	}
	switch x := id.Node.(type) {
	case *ast.LetClause:
		return r.follow(x.Expr)
	case *ast.ImportSpec:
		return false
	}
	if strings.HasPrefix(id.Name, "#") || strings.HasPrefix(id.Name, "_") {
		return r.follow(id.Node)
	}
	return true
}

func (r references) follow(n ast.Node) bool {
	if r.seen[n] {
		return false
	}
	r.seen[n] = true
	return r.in(n)
}

func isNil(n ast.Node) bool {
	switch x := n.(type) {
	case nil:
		return true
	case *ast.ListLit:
		return x == nil
	}
	return false
}

// span is a part of a file.
type span struct {
	file       string
	start, end int
}

func spanOf(n ast.Node) span {
	return span{file: n.Pos().Filename(), start: n.Pos().Offset(), end: n.End().Offset()}
}

func contains(outer, inner ast.Node) bool {
	return spanOf(outer).contains(inner.Pos())
}

func (s span) contains(p token.Pos) bool {
	return p.IsValid() && p.Filename() == s.file && s.start <= p.Offset() && p.Offset() < s.end
}

// key names a literal by its place.
func key(n ast.Node) string {
	if isNil(n) || !n.Pos().IsValid() {
		return ""
	}
	p := n.Pos()
	return p.Filename() + ":" + strconv.Itoa(p.Offset())
}
