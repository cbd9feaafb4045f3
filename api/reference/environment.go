package reference

import (
	"fmt"
	"slices"
	"sync"

	"github.com/google/cel-go/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// The variables of the two environments.
const (
	nodesVariable  = "nodes"
	objectVariable = "object"
)

// referenceEnvironment is the CEL environment of late references: the CEL libraries
// of Kubernetes, and as the only variable the map of all live nodes by id. The
// resolver rewrites identifiers of nodes to indexes of that map, so one environment
// serves all graphs. Creating an environment takes longer than compiling a hundred
// expressions.
var referenceEnvironment = sync.OnceValues(func() (*cel.Env, error) {
	return extend(cel.Variable(nodesVariable, cel.MapType(cel.StringType, cel.DynType)))
})

// readinessEnvironment is the CEL environment of readiness expressions. Its only
// variable is the live object.
var readinessEnvironment = sync.OnceValues(func() (*cel.Env, error) {
	return extend(cel.Variable(objectVariable, cel.DynType))
})

// extend returns Kubernetes' environment for stored expressions with additional
// options. That environment has the libraries of all released Kubernetes versions.
// Pequod evaluates the expressions itself, so they do not depend on the version of
// the cluster.
func extend(opts ...cel.EnvOption) (*cel.Env, error) {
	base := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).StoredExpressionsEnv()
	guards, err := guardFunctions(base)
	if err != nil {
		return nil, err
	}
	env, err := base.Extend(append(opts, guards...)...)
	if err != nil {
		return nil, fmt.Errorf("CEL environment: %w", err)
	}
	return env, nil
}

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
