package reference

import (
	"strings"

	"github.com/pequod-io/pequod/internal/problem"
)

// MaxCompileCost is the maximum cost of compiling all expressions of a graph: about
// a tenth of a second.
const MaxCompileCost = 400_000

// The cost of compiling an expression, in the units of the cost of its evaluation.
const (
	costPerExpression  = 300
	costPerByte        = 4
	costPerBracket     = 20
	costPerNode        = 40 // of the syntax tree
	costPerInstruction = 2  // of a regular expression
	costOfPlan         = 300
)

// Budget limits the cost of compiling several expressions to [MaxCompileCost]. The
// cost is counted before it arises, and alike for expressions that are compiled
// already or have mistakes: the same graph is refused everywhere. The zero value is
// unspent, and a nil Budget limits nothing. It is not safe for concurrent use.
type Budget struct{ spent uint64 }

// Exceeded reports whether an expression was refused because of the budget.
func (b *Budget) Exceeded() bool { return b.spent > MaxCompileCost }

// spend adds a cost. It returns the problem of an expression that must not be
// compiled, or nil.
func (b *Budget) spend(cost uint64) problem.List {
	if b == nil {
		return nil
	}
	if !b.Exceeded() {
		b.spent += cost
	}
	if b.Exceeded() {
		return tooLarge("with this expression, compiling those of the graph costs more than %d", uint64(MaxCompileCost))
	}
	return nil
}

// parseCost returns the cost of parsing an expression.
func parseCost(expr string) uint64 {
	brackets := strings.Count(expr, "(") + strings.Count(expr, "[") + strings.Count(expr, "{")
	return uint64(costPerExpression + costPerByte*len(expr) + costPerBracket*brackets)
}

// checkCost returns the cost of type-checking an expression and of compiling its
// literal regular expressions. The time of the check grows with the square of the
// number of operations, because CEL copies its type variables for every call.
func checkCost(c count, instructions int) uint64 {
	cost := costPerNode*c.nodes + 4*c.operations*c.operations + costPerInstruction*instructions
	if c.folds {
		cost += costOfPlan
	}
	return uint64(cost)
}
