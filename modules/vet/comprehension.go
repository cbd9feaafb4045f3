package vet

import (
	"maps"
	"slices"

	"github.com/pequod-io/pequod/internal/problem"

	"cuelang.org/go/cue/ast"
)

func (s *selectors) comprehension(c *ast.Comprehension, in scope) {
	in = maps.Clone(in)
	defer func(before []choice) { s.outer = before }(s.outer)
	for _, clause := range c.Clauses {
		switch x := clause.(type) {
		case *ast.ForClause:
			s.expr(x.Source, in, false)
			s.loop(x, in)
		case *ast.LetClause:
			s.expr(x.Expr, in, false)
			s.bind(x.Ident.Name, x.Expr, in)
		case *ast.IfClause:
			s.expr(x.Condition, in, false)
			s.condition(x, in)
			otherwise := s.choices(x.Condition, in, false)
			s.tried = append(s.tried, both(s.outer, otherwise)...)
			if s.refusing {
				s.spared = append(s.spared, otherwise...)
			}
			s.both(x, s.choices(x.Condition, in, true))
		}
	}
	s.tried = append(s.tried, s.outer...)
	s.expr(c.Value, in, false)
}

// both wants a condition to hold besides those around it, and tells where it
// can't.
func (s *selectors) both(c *ast.IfClause, holds []choice) {
	before := s.outer
	s.outer = slices.DeleteFunc(both(before, holds), choice.contradicts)
	if len(s.outer) > 0 || len(before) == 0 || len(before)*len(holds) > maxChoices {
		return
	}
	if !s.never[c] {
		s.never[c] = true
		s.problems = append(s.problems, problem.Problem{
			Position: posOf(c.Condition.Pos()), Rule: problem.RuleModule, Severity: s.level,
			Message: "never holds: " + exprText(c.Condition), Hint: "a condition around it excludes that",
		})
	}
}

// loop lets the names of a `for` stand for what its source holds.
func (s *selectors) loop(x *ast.ForClause, in scope) {
	of, ok := s.quietly(x.Source, in)
	if x.Key != nil {
		delete(in, x.Key.Name)
	}
	if x.Value != nil {
		delete(in, x.Value.Name)
	}
	if !ok {
		return
	}
	item, ok := of.element()
	if !ok {
		return
	}
	s.outer = both(s.outer, []choice{{{at: item.steps, value: ast.NewIdent("_"), present: true}}})
	if x.Value != nil {
		in[x.Value.Name] = item
	}
}

// key wants values for what a label reads of the input: without them there is
// no such field.
func (s *selectors) key(l ast.Label, in scope) {
	if _, ok := labelName(l); ok {
		return
	}
	s.reads(l, in, 0, func(of schema) {
		for _, candidate := range of.candidates(nil) {
			if of.takes(candidate) {
				s.keys = append(s.keys, want{at: of.steps, value: candidate})
				return
			}
		}
	})
}

// reads visits what an expression reads of the input.
func (s *selectors) reads(n ast.Node, in scope, depth int, visit func(schema)) {
	ast.Walk(n, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.SelectorExpr, *ast.IndexExpr:
			of, ok := s.quietly(n.(ast.Expr), in)
			if ok {
				visit(of)
			}
			return !ok
		case *ast.Ident:
			of, ok := in[x.Name]
			switch {
			case ok && of.expr == nil:
				visit(of)
			case ok && depth < maxDepth:
				s.reads(of.expr, of.in, depth+1, visit)
			}
		}
		return true
	}, nil)
}
