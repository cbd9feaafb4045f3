package vet

import (
	"maps"
	"slices"

	"github.com/pequod-io/pequod/internal/problem"

	"cuelang.org/go/cue/ast"
)

// comprehension walks a comprehension, records the choices for which its clauses
// do and do not yield something, and checks its guards. The clauses are walked in
// order: each one sees the names, and the choices, of the clauses before it.
//
// For a guard below enclosing guards, the sample in which it does not hold must
// still satisfy the enclosing ones. Otherwise the sample would not reach the
// guard.
func (s *inputWalker) comprehension(c *ast.Comprehension, in bindings) {
	in = maps.Clone(in)
	defer func(before []choice) { s.enclosing = before }(s.enclosing)
	for _, clause := range c.Clauses {
		switch x := clause.(type) {
		case *ast.ForClause:
			s.expr(x.Source, in, false)
			s.bindLoop(x, in)
		case *ast.LetClause:
			s.expr(x.Expr, in, false)
			s.bind(x.Ident.Name, x.Expr, in)
		case *ast.IfClause:
			s.expr(x.Condition, in, false)
			s.checkGuard(x, in)
			otherwise := s.choices(x.Condition, in, false)
			s.branches = append(s.branches, combine(s.enclosing, otherwise)...)
			if s.inViolations {
				s.allowing = append(s.allowing, otherwise...)
			}
			s.enter(x, s.choices(x.Condition, in, true))
		}
	}
	s.branches = append(s.branches, s.enclosing...)
	s.expr(c.Value, in, false)
}

// enter adds the choices of a guard to those of the enclosing clauses. It reports
// the guard if the enclosing clauses exclude all of its choices. It cannot know
// that if choices were dropped because of maxChoices, or if an enclosing guard is
// impossible already.
func (s *inputWalker) enter(c *ast.IfClause, holds []choice) {
	before := s.enclosing
	s.enclosing = slices.DeleteFunc(combine(before, holds), choice.contradicts)
	if len(s.enclosing) > 0 || len(before) == 0 || len(before)*len(holds) > maxChoices {
		return
	}
	if !s.never[c] {
		s.never[c] = true
		s.problems = append(s.problems, problem.Problem{
			Position: posOf(c.Condition.Pos()), Rule: problem.RuleModule, Severity: s.severity,
			Message: "never holds: " + exprText(c.Condition), Hint: "a condition around it excludes that",
		})
	}
}

// bindLoop binds the names of a `for` clause to the items of its source. The loop
// yields something only if the source has an item, so an item becomes a want of
// the body. The names of the loop hide outer names even if the source is unknown.
func (s *inputWalker) bindLoop(x *ast.ForClause, in bindings) {
	of, ok := s.lookup(x.Source, in)
	if x.Key != nil {
		delete(in, x.Key.Name)
	}
	if x.Value != nil {
		delete(in, x.Value.Name)
	}
	if !ok {
		return
	}
	item, ok := of.item()
	if !ok {
		return
	}
	s.enclosing = combine(s.enclosing, []choice{{{path: item.wantPath, value: ast.NewIdent("_"), present: true}}})
	if x.Value != nil {
		in[x.Value.Name] = item
	}
}

// wantKey records a value for every field of the input that a computed label reads.
// Without the values, the field with the label would not exist.
func (s *inputWalker) wantKey(l ast.Label, in bindings) {
	if _, ok := labelName(l); ok {
		return
	}
	s.visitReads(l, in, 0, func(of schema) {
		for _, candidate := range of.candidates(nil) {
			if of.takes(candidate) {
				s.keys = append(s.keys, want{path: of.wantPath, value: candidate})
				return
			}
		}
	})
}

// visitReads calls visit for everything that an expression reads of the input. It
// follows names that are bound to other expressions. depth counts these steps,
// because bindings may refer to each other.
func (s *inputWalker) visitReads(n ast.Node, in bindings, depth int, visit func(schema)) {
	ast.Walk(n, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.SelectorExpr, *ast.IndexExpr:
			of, ok := s.lookup(n.(ast.Expr), in)
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
				s.visitReads(of.expr, of.in, depth+1, visit)
			}
		}
		return true
	}, nil)
}
