package graph

import (
	"slices"

	"github.com/pequod-io/pequod/api/reference"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
)

// compiler compiles the expressions of one graph, equal ones once.
type compiler struct {
	scope *reference.NodeSet
	// late and ready are the results by expression: of late references, and of
	// readiness expressions, which have other variables.
	late, ready map[string]compiled
	budget      reference.Budget
}

// compiled is either an expression or its problems.
type compiled struct {
	expr   *reference.Expression
	issues problem.List
}

// compile compiles all expressions that were found.
func (g *Graph) compile() {
	c := &compiler{scope: reference.NewNodeSet(g.ids), late: map[string]compiled{}, ready: map[string]compiled{}}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		references, problems := c.references(n.found, reference.Path{"resource"})
		for _, p := range problems {
			n.problems = append(n.problems, p.of(n.ID))
		}
		n.References, n.Generates = references, n.found.Generate
		n.Ready = make([]*reference.Expression, len(n.ReadyWhen))
		n.ready = make([]problem.List, len(n.ReadyWhen))
		for k, check := range n.ReadyWhen {
			if check.Type == v1alpha1.ReadyExpression && check.Expr != "" {
				result := c.memoize(c.ready, check.Expr, reference.CompileReady)
				n.Ready[k], n.ready[k] = result.expr, result.issues
			}
		}
	}
	for _, output := range g.found {
		outputPath := reference.Path{"outputs", output.name}
		references, problems := c.references(output.found, outputPath)
		for i := range references {
			references[i].Path = append(reference.Path{output.name}, references[i].Path...)
		}
		for _, generate := range output.found.Generate {
			problems = append(problems, NewProblem("", append(slices.Clone(outputPath), generate.Path...).String(),
				"$generate is not allowed here", generateHint))
		}
		g.Outputs = append(g.Outputs, references...)
		g.outputs = append(g.outputs, problems...)
	}
	if c.budget.Exceeded() {
		g.overBudget("compiling the graph's expressions costs more than %d", reference.MaxCompileCost)
	}
}

// references compiles the late references that were found in the value at base.
// The paths of the problems start with base; those of the references do not. The
// problems have no node.
func (c *compiler) references(found reference.Found, base reference.Path) ([]Late, []Problem) {
	var references []Late
	var problems []Problem
	for _, m := range found.Malformed {
		path := append(slices.Clone(base), m.Path...).String()
		problems = append(problems, NewProblem("", path, m.Message, m.Hint))
	}
	for _, from := range found.From {
		result := c.memoize(c.late, from.Expr, c.scope.Compile)
		for _, issue := range result.issues {
			path := append(slices.Clone(base), from.Path...).String()
			problems = append(problems, issueProblem("", path, issue))
		}
		if result.expr != nil {
			references = append(references, Late{Path: from.Path, Expression: result.expr})
		}
	}
	return references, problems
}

// memoize returns the result for an expression, which it compiles at most once.
func (c *compiler) memoize(done map[string]compiled, expr string, compile func(string, *reference.Budget) (*reference.Expression, problem.List)) compiled {
	result, ok := done[expr]
	if !ok {
		result.expr, result.issues = compile(expr, &c.budget)
		done[expr] = result
	}
	return result
}

// issueProblem returns the problem of an expression. Only an exceeded limit keeps
// its own rule.
func issueProblem(node, field string, issue problem.Problem) Problem {
	p := NewProblem(node, field, issue.Message, issue.Hint)
	if issue.Rule == problem.RuleSize {
		p.Rule = problem.RuleSize
	}
	return p
}

// of returns the problem as one of a node.
func (p Problem) of(node string) Problem {
	inNode := NewProblem(node, p.Field, p.Message, p.Hint)
	inNode.Rule = p.Rule
	return inNode
}
