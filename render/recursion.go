package render

import (
	"slices"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
)

// CUE v0.17.1 recurses without end over two forms of schema:
//
//   - a bound unified with a struct whose fields are all under guards, so that CUE
//     learns late that it is a struct: {x!: 1, if x == 1 {w: int}} & <5;
//   - a bound by a value that contains the bound: a: x: int & !=a.
//
// In other modules CUE evaluates both forms or reports an error, so they are
// not refused. They are searched for only once an evaluation did recurse
// without end, to tell the author where: the script recursion.txtar of the
// command line fails when a new version of CUE no longer needs this file.

// recursion is a position at which CUE may recurse without end.
type recursion struct {
	pos problem.Position
	// form describes the schema there, for messages.
	form string
}

// Bounds of the search: it must neither recurse deeply nor take long itself.
const (
	maxSearchedFile = 256 << 10 // bytes of a file
	maxAncestors    = 1000      // depth of syntax
	maxConjuncts    = 1000      // nodes examined for one field
)

// findRecursion returns the first position in a module's files at which CUE may
// recurse without end. It works on syntax alone, because evaluating would recurse
// again, and it may miss a position or name one that is harmless.
func findRecursion(files []*ast.File) (recursion, bool) {
	for _, f := range files {
		s := &recursionSearch{}
		ast.Walk(f, s.enter, s.leave)
		if s.found != nil {
			return *s.found, true
		}
	}
	return recursion{}, false
}

// recursionSearch walks the syntax of one file.
type recursionSearch struct {
	ancestors []ast.Node // of the current node
	found     *recursion
}

// enter is called before the children of a node. It returns false to skip them,
// once something is found or the syntax is too deep.
func (s *recursionSearch) enter(n ast.Node) bool {
	if s.found != nil || len(s.ancestors) >= maxAncestors {
		return false
	}
	switch x := n.(type) {
	case *ast.UnaryExpr:
		if isBoundOp(x.Op) && s.isAncestor(x.X) {
			s.found = &recursion{cuesyntax.Position(x.Pos()), "where a bound names the value that it stands in"}
		}
	case *ast.BinaryExpr:
		if x.Op == token.AND {
			s.checkConjuncts(conjuncts{}.with(x))
		}
	case *ast.StructLit:
		s.checkFields(x.Elts)
	case *ast.File:
		s.checkFields(x.Decls)
	}
	s.ancestors = append(s.ancestors, n)
	return true
}

// leave is called after the children of a node.
func (s *recursionSearch) leave(ast.Node) { s.ancestors = s.ancestors[:len(s.ancestors)-1] }

// isAncestor reports whether an operand refers to a value that contains it.
func (s *recursionSearch) isAncestor(operand ast.Expr) bool {
	if p, ok := operand.(*ast.ParenExpr); ok {
		return s.isAncestor(p.X)
	}
	id, ok := operand.(*ast.Ident)
	return ok && id.Node != nil && slices.Contains(s.ancestors, id.Node)
}

// checkFields checks the fields of a struct, each with all of its declarations.
func (s *recursionSearch) checkFields(decls []ast.Decl) {
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
			s.checkConjuncts(byName[cuesyntax.LabelName(f.Label)])
		}
	}
}

// checkConjuncts records the first form: a bound and a guarded struct together.
func (s *recursionSearch) checkConjuncts(c conjuncts) {
	if s.found == nil && c.bound != nil && c.guarded {
		s.found = &recursion{cuesyntax.Position(c.bound.Pos()), "where a bound meets a struct whose fields hang on a condition"}
	}
}

// conjuncts summarizes the expressions that may be unified for one value: those
// of all its declarations, joined by & or |, and behind references in the same
// file.
type conjuncts struct {
	bound   ast.Node // the first bound, or nil
	guarded bool     // a struct has no fields outside guards
	visited int      // nodes examined
}

// with adds an expression, and what the identifiers in it refer to.
func (c conjuncts) with(e ast.Expr) conjuncts {
	if c.visited++; c.visited > maxConjuncts {
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
		c.guarded = c.guarded || isGuarded(x)
	case *ast.Ident:
		if of, ok := x.Node.(ast.Expr); ok {
			return c.with(of)
		}
	}
	return c
}

// isGuarded reports whether all regular fields of a struct are under guards,
// so that CUE can't tell without evaluating them that it is a struct.
func isGuarded(s *ast.StructLit) bool {
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

// isBoundOp reports whether an operator makes a bound, such as >=1.
func isBoundOp(op token.Token) bool {
	switch op {
	case token.LSS, token.LEQ, token.GTR, token.GEQ, token.NEQ:
		return true
	}
	return false
}
