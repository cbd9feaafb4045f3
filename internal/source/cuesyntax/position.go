package cuesyntax

import (
	"strconv"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"

	"github.com/pequod-io/pequod/internal/problem"
)

// Position converts a position of CUE. An invalid one becomes the zero
// Position.
func Position(p token.Pos) problem.Position {
	if !p.IsValid() {
		return problem.Position{}
	}
	q := p.Position()
	return problem.Position{File: q.Filename, Line: q.Line, Column: q.Column}
}

// PositionAt returns the position of the value at a path below e, as
// [fieldpath.Split] returns paths. A scalar is at its first character, a struct
// or a list at its label. If the data does not have the whole path, PositionAt
// returns the position of the innermost struct or list on the way.
func PositionAt(e ast.Expr, path []string) problem.Position {
	at := e.Pos()
	for i, part := range path {
		switch x := e.(type) {
		case *ast.StructLit:
			f := Field(x, part)
			if f == nil {
				return Position(at)
			}
			e, at = f.Value, f.Label.Pos()
		case *ast.ListLit:
			n, err := strconv.Atoi(part)
			if err != nil || n < 0 || n >= len(x.Elts) {
				return Position(at)
			}
			e, at = x.Elts[n], x.Elts[n].Pos()
		default:
			return Position(at)
		}
		if i == len(path)-1 {
			return Position(valuePos(e, at))
		}
	}
	return Position(at)
}

// valuePos returns the position of a scalar, and for other values the position
// of their label.
func valuePos(e ast.Expr, label token.Pos) token.Pos {
	if _, ok := e.(*ast.BasicLit); ok && e.Pos().IsValid() {
		return e.Pos()
	}
	return label
}

// ValuePosition returns the position at which a module's author wrote a value.
// If a module unifies the value with a schema, as modules made by `module init`
// do, CUE mostly reports the schema's position, which does not help the author.
func ValuePosition(v cue.Value) problem.Position {
	if op, args := v.Expr(); op == cue.AndOp {
		for _, a := range args {
			if p := Position(dataPos(a.Source())); p.File != "" {
				return p
			}
		}
	}
	return Position(v.Pos())
}

// dataPos returns the position of syntax that gives a value. It returns no
// position for syntax that only constrains one, such as an optional field.
func dataPos(n ast.Node) token.Pos {
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
