package reference

import (
	"slices"

	"github.com/google/cel-go/cel"
)

// Expression is a valid CEL expression. It is immutable, so any number of
// goroutines may use it. It does not hold the syntax tree, which may take a
// thousand times the memory of the text; see [Expression.Plan].
type Expression struct {
	// source is the expression as written.
	source string
	// scope has the nodes of a late reference; it is nil for a readiness expression.
	scope *NodeSet
	// nodes are the ids that [Expression.Nodes] returns.
	nodes []string
	// selects are the paths that [Expression.Selects] returns.
	selects []Path
	// cost is the cost that [Expression.CompileCost] returns.
	cost uint64
	// folds is set if planning converts constants, which may fail, as in int('x').
	folds bool
	// instructions is the size of the regular expressions in the program.
	instructions int
}

// tree is a type-checked expression. It is immutable.
type tree struct {
	expression *Expression
	checked    *cel.Ast
	// env is the shared environment in which checked was compiled.
	env *cel.Env
	// variable is the only variable of the environment: nodes or object. If it is empty,
	// variables are those of [Variables].
	variable  string
	variables []string
}

// isVariable reports whether an identifier is one of several variables.
func (t *tree) isVariable(name string) bool { return slices.Contains(t.variables, name) }

// String returns the expression as its author wrote it.
func (e *Expression) String() string { return e.source }

// Nodes returns the ids of the nodes that the expression reads, without duplicates
// and in the order of their first use. It is empty for a readiness expression.
func (e *Expression) Nodes() []string { return e.nodes }

// CompileCost returns the cost of type-checking the expression, in the units of the
// cost of its evaluation.
func (e *Expression) CompileCost() uint64 { return e.cost }

// size returns the size of the program, in bytes of text that take as much memory. An
// instruction of a regular expression takes about 40 bytes.
func (e *Expression) size() int { return len(e.source) + e.instructions/20 }
