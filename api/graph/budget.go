package graph

import (
	"fmt"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
)

// Limits of one graph. One applier executes the graphs of many tenants, so what a
// graph may cost is bounded: the time to compile its expressions, and the number
// of watches. The CRD has the same limits where a schema can express them. While the
// expressions are compiled, [reference.Budget] limits what that costs.
const (
	// MaxNodes is the maximum number of nodes.
	MaxNodes = 2500
	// MaxExpressions is the maximum number of late references, in resources and
	// outputs, and of readiness expressions.
	MaxExpressions = 1000
	// MaxExpressionBytes is the maximum length in bytes of all expressions
	// together. Equal expressions are compiled once and count once.
	MaxExpressionBytes = 64 << 10
	// MaxExternalRefs is the maximum number of nodes with an externalRef.
	MaxExternalRefs = 100
)

// checkBudget records the limits that the graph exceeds. It reports whether the
// expressions may be compiled. The nodes must have been read.
func (g *Graph) checkBudget() bool {
	externals, expressions, bytes := 0, 0, 0
	distinct := map[string]bool{}
	count := func(expr string) {
		expressions++
		if !distinct[expr] {
			distinct[expr] = true
			bytes += len(expr)
		}
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if n.ExternalRef != nil {
			externals++
		}
		for _, from := range n.found.From {
			count(from.Expr)
		}
		for _, check := range n.ReadyWhen {
			if check.Type == v1alpha1.ReadyExpression {
				count(check.Expr)
			}
		}
	}
	for _, output := range g.found {
		for _, from := range output.found.From {
			count(from.Expr)
		}
	}
	for _, limit := range []struct {
		what      string
		have, may int
	}{
		{"nodes", len(g.Nodes), MaxNodes},
		{"nodes with an externalRef", externals, MaxExternalRefs},
		{"late references and readiness expressions", expressions, MaxExpressions},
		{"bytes of expressions", bytes, MaxExpressionBytes},
	} {
		if limit.have > limit.may {
			g.overBudget("the graph has %d %s; the limit is %d", limit.have, limit.what, limit.may)
		}
	}
	return len(g.budget) == 0
}

// overBudget records that the graph exceeds a limit.
func (g *Graph) overBudget(format string, args ...any) {
	p := NewProblem("", "nodes", fmt.Sprintf(format, args...), "split the graph")
	p.Rule = problem.RuleSize
	g.budget = append(g.budget, p)
}

// OverBudget returns the first problem of a limit that a graph exceeds, and false
// if there is none.
func OverBudget(problems []Problem) (Problem, bool) {
	for _, p := range problems {
		if p.Rule == problem.RuleSize {
			return p, true
		}
	}
	return Problem{}, false
}
