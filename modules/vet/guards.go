package vet

import (
	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/token"

	"github.com/pequod-io/pequod/internal/problem"
)

// checkGuard reports a guard that never holds for any instance, because it
// compares a field with a value that the schema of the field excludes. For
// example, given tier: "small" | "large", it reports
//
//	if input.spec.tier == "medium" {...}
//
// It looks at each operand of a conjunction alone, since one impossible operand
// makes the guard impossible. The field may be on either side of the comparison.
// The guard is also recorded in never, for the check for unreachable nodes.
func (s *inputWalker) checkGuard(c *ast.IfClause, in bindings) {
	for _, e := range operands(c.Condition, token.LAND) {
		if l, ok := e.(*ast.BasicLit); ok && l.Kind == token.FALSE {
			s.never[c] = true
			s.problems = append(s.problems, problem.Problem{
				Position: posOf(l.Pos()), Rule: problem.RuleModule, Severity: s.severity, Message: "never holds: false",
			})
		}
		b, ok := e.(*ast.BinaryExpr)
		if !ok {
			continue
		}
		of, ok := s.lookup(b.X, in)
		op, other := b.Op, b.Y
		if !ok {
			of, ok = s.lookup(b.Y, in)
			op, other = swapped(b.Op), b.X
		}
		if !ok || len(of.values) == 0 {
			continue
		}
		// One schema that allows the comparison is enough to make the guard
		// possible.
		for _, v := range of.values {
			if s.possible(v, op, other) {
				ok = false
			}
		}
		if !ok {
			continue
		}
		s.never[c] = true
		p := problem.Problem{
			Position: posOf(b.Pos()), Path: "input." + of.path, Rule: problem.RuleModule, Severity: s.severity,
			Message: "never holds: " + exprText(b), Related: posOf(of.values[0].Pos()),
		}
		// A long schema, such as that of a struct, explains less than its
		// position, which Related has.
		if text := exprText(of.values[0].Syntax(cue.Raw())); len(text) < 80 {
			p.Hint = "the schema is " + text
		}
		s.problems = append(s.problems, p)
	}
}

// lookup is resolve without reporting problems. It works on a copy of the walker,
// whose problems are dropped: the walk itself has reported them already.
func (s *inputWalker) lookup(e ast.Expr, in bindings) (schema, bool) {
	quiet := *s
	quiet.problems, quiet.quiet = nil, true
	return (&quiet).resolve(e, in)
}

// possible reports whether a value of a schema can satisfy the comparison with a
// literal. It unifies the schema with the comparison as a bound, such as >3 or
// !="a". It returns true if other is not a literal, or if the schema is an error
// by itself: a false problem is worse than a missed one.
func (s *inputWalker) possible(v cue.Value, op token.Token, other ast.Expr) bool {
	if u, ok := other.(*ast.UnaryExpr); ok && u.Op == token.SUB {
		other = u.X
		if _, ok := other.(*ast.BasicLit); !ok {
			return true
		}
		other = u
	} else if _, ok := other.(*ast.BasicLit); !ok {
		return true
	}
	var want ast.Expr
	switch op {
	case token.EQL:
		want = other
	case token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ:
		want = &ast.UnaryExpr{Op: op, X: other}
	default:
		return true
	}
	bound := cuecontext.New().BuildExpr(want)
	if bound.Err() != nil || v.Err() != nil && v.IncompleteKind() == cue.BottomKind {
		return true
	}
	return v.Unify(bound).Err() == nil
}
