package render

import (
	"slices"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
)

// CUE v0.17.1 recurses without end over two forms: a bound that meets a struct
// whose fields hang on a condition, so that CUE learns late that it is a struct;
// and a bound by the very value that it stands in. Elsewhere both are well, or an
// error of CUE's own, so nothing is refused for them: they are looked for once an
// evaluation did recurse.

// endless is a place where CUE may recurse without end.
type endless struct {
	pos  problem.Position
	form string
}

// What searches for it must not recurse deep, nor be long about it, itself.
const (
	maxSearched  = 256 << 10 // bytes of a file
	maxAround    = 1000      // nodes around a node
	maxConjuncts = 1000      // nodes that are looked at for one field
)

// endlessIn finds the first such place in a module.
func endlessIn(files []*ast.File) (endless, bool) {
	for _, f := range files {
		w := &endlessWalk{}
		ast.Walk(f, w.enter, w.leave)
		if w.found != nil {
			return *w.found, true
		}
	}
	return endless{}, false
}

// endlessWalk knows what is around a node.
type endlessWalk struct {
	around []ast.Node
	found  *endless
}

func (w *endlessWalk) enter(n ast.Node) bool {
	if w.found != nil || len(w.around) >= maxAround {
		return false
	}
	switch x := n.(type) {
	case *ast.UnaryExpr:
		if isBoundOp(x.Op) && w.isInside(x.X) {
			w.found = &endless{cuesyntax.Position(x.Pos()), "where a bound names the value that it stands in"}
		}
	case *ast.BinaryExpr:
		if x.Op == token.AND {
			w.meeting(conjuncts{}.with(x))
		}
	case *ast.StructLit:
		w.fields(x.Elts)
	case *ast.File:
		w.fields(x.Decls)
	}
	w.around = append(w.around, n)
	return true
}

func (w *endlessWalk) leave(ast.Node) { w.around = w.around[:len(w.around)-1] }

// isInside says whether an operand refers to a value around it.
func (w *endlessWalk) isInside(operand ast.Expr) bool {
	if p, ok := operand.(*ast.ParenExpr); ok {
		return w.isInside(p.X)
	}
	id, ok := operand.(*ast.Ident)
	return ok && id.Node != nil && slices.Contains(w.around, id.Node)
}

// fields looks at what the declarations of each field make together.
func (w *endlessWalk) fields(decls []ast.Decl) {
	byName := map[string]conjuncts{}
	for _, d := range decls {
		if f, ok := d.(*ast.Field); ok {
			if name := cuesyntax.LabelName(f.Label); name != "" {
				byName[name] = byName[name].with(f.Value)
			}
		}
	}
	for _, d := range decls {
		if f, ok := d.(*ast.Field); ok {
			w.meeting(byName[cuesyntax.LabelName(f.Label)])
		}
	}
}

func (w *endlessWalk) meeting(c conjuncts) {
	if w.found == nil && c.bound != nil && c.conditional {
		w.found = &endless{cuesyntax.Position(c.bound.Pos()), "where a bound meets a struct whose fields hang on a condition"}
	}
}

// conjuncts is what may be unified in an expression: the first bound, and whether
// there is a struct that is nothing but conditions and optional fields.
type conjuncts struct {
	bound       ast.Node
	conditional bool
	looked      int
}

func (c conjuncts) with(e ast.Expr) conjuncts {
	if c.looked++; c.looked > maxConjuncts {
		return c
	}
	switch x := e.(type) {
	case *ast.ParenExpr:
		return c.with(x.X)
	case *ast.BinaryExpr:
		if x.Op == token.AND || x.Op == token.OR {
			return c.with(x.X).with(x.Y)
		}
	case *ast.UnaryExpr:
		switch x.Op {
		case token.MUL:
			return c.with(x.X)
		case token.LSS, token.LEQ, token.GTR, token.GEQ:
			if c.bound == nil {
				c.bound = x
			}
		}
	case *ast.StructLit:
		c.conditional = c.conditional || isConditional(x)
	case *ast.Ident:
		if of, ok := x.Node.(ast.Expr); ok {
			return c.with(of)
		}
	}
	return c
}

// isConditional says whether a struct has comprehensions, and no field that makes
// it a struct without them.
func isConditional(s *ast.StructLit) bool {
	found := false
	for _, d := range s.Elts {
		switch x := d.(type) {
		case *ast.Comprehension:
			found = true
		case *ast.Field:
			if _, pattern := x.Label.(*ast.ListLit); x.Constraint == token.ILLEGAL && !pattern {
				return false
			}
		}
	}
	return found
}

func isBoundOp(op token.Token) bool {
	switch op {
	case token.LSS, token.LEQ, token.GTR, token.GEQ, token.NEQ:
		return true
	}
	return false
}
