package syntax

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
func Expression(n ast.Node) ast.Expr {
	switch x := n.(type) {
	case *ast.Field:
		return Expression(x.Value)
	case *ast.EmbedDecl:
		return Expression(x.Expr)
	case *ast.Alias:
		return Expression(x.Expr)
	case *ast.ParenExpr:
		return Expression(x.X)
	case ast.Expr:
		return x
	}
	return nil
}

// dependsOnInput says whether n itself refers to fields of the instance. The
// fields of struct literals in n are not looked into: they are read one by one.
func DependsOnInput(n ast.Node) bool {
	return References{FieldsOf: false, Bounds: true}.in(n)
}

// valueDependsOnInput says whether the value of n may come from fields of the
// instance outside n.
func ValueDependsOnInput(n ast.Node) bool {
	return References{FieldsOf: true, within: n}.in(n)
}

// anyDependsOnInput says whether anything in n refers to fields of the instance
// outside n.
func AnyDependsOnInput(n ast.Node) bool {
	return References{FieldsOf: true, Bounds: true, within: n}.in(n)
}

// anyFieldRefers says whether anything in n refers to a field of the instance,
// also to one in n.
func AnyFieldRefers(n ast.Node) bool {
	return References{FieldsOf: true, Bounds: true}.in(n)
}

// references looks for references to fields of the instance.
type References struct {
	// fieldsOf says whether to look into the fields of struct literals.
	FieldsOf bool
	// bounds says whether to look into the operands of bounds.
	Bounds bool
	// within, where set, is what references may point into.
	within ast.Node
	// seen are the definitions that were followed.
	Seen map[ast.Node]bool
}

func (r References) in(n ast.Node) bool {
	if IsNil(n) {
		return false
	}
	if r.Seen == nil {
		r.Seen = map[ast.Node]bool{}
	}
	found := false
	ast.Walk(n, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.Ident:
			found = found || r.Ident(x)
		case *ast.StructLit:
			if !r.FieldsOf {
				found = found || r.embeddings(x)
				return false
			}
		case *ast.UnaryExpr:
			switch x.Op {
			case token.LSS, token.LEQ, token.GTR, token.GEQ, token.NEQ, token.MAT, token.NMAT:
				return !found && r.Bounds
			}
		}
		return !found
	}, nil)
	return found
}

// embeddings looks into what a struct literal embeds.
func (r References) embeddings(lit *ast.StructLit) bool {
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
func (r References) Ident(id *ast.Ident) bool {
	if id.Node == nil {
		return id.Name == "self" || id.Name == "__self"
	}
	if r.within != nil && Contains(r.within, id.Node) {
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

func (r References) follow(n ast.Node) bool {
	if r.Seen[n] {
		return false
	}
	r.Seen[n] = true
	return r.in(n)
}

func IsNil(n ast.Node) bool {
	switch x := n.(type) {
	case nil:
		return true
	case *ast.ListLit:
		return x == nil
	}
	return false
}

// span is a part of a file.
type Span struct {
	file       string
	start, end int
}

func SpanOf(n ast.Node) Span {
	return Span{file: n.Pos().Filename(), start: n.Pos().Offset(), end: n.End().Offset()}
}

func Contains(outer, inner ast.Node) bool {
	return SpanOf(outer).Contains(inner.Pos())
}

func (s Span) Contains(p token.Pos) bool {
	return p.IsValid() && p.Filename() == s.file && s.start <= p.Offset() && p.Offset() < s.end
}

// key names a literal by its place.
func Key(n ast.Node) string {
	if IsNil(n) || !n.Pos().IsValid() {
		return ""
	}
	p := n.Pos()
	return p.Filename() + ":" + strconv.Itoa(p.Offset())
}
