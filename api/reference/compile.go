package reference

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/google/cel-go/cel"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source"
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
	// operations is the size of the expression; see [MaxOperations].
	operations uint64
}

// tree is a type-checked expression. It is immutable.
type tree struct {
	expression *Expression
	checked    *cel.Ast
	// env is the shared environment in which checked was compiled.
	env *cel.Env
	// variable is the only variable of the environment: nodes or object.
	variable string
}

// String returns the expression as its author wrote it.
func (e *Expression) String() string { return e.source }

// Nodes returns the ids of the nodes that the expression reads, without duplicates
// and in the order of their first use. It is empty for a readiness expression.
func (e *Expression) Nodes() []string { return e.nodes }

// CompileCost returns the cost of compiling the expression, in the units of the
// cost of its evaluation. The time of the type checker grows with the square of
// the number of operations.
func (e *Expression) CompileCost() uint64 { return 3 * e.operations * e.operations }

// Plan returns the program of the expression, compiling the expression if its
// program was dropped since. Callers evaluate the program and do not keep it.
func (e *Expression) Plan() (*Program, error) {
	p, _, issues := plan(e.scope, e.source)
	if len(issues) > 0 {
		return nil, errors.New(issues[0].Message)
	}
	return p, nil
}

// programs are the programs of the process.
var programs = sync.OnceValue(newCache)

// plan returns the program of an expression, from the cache or by compilation, and
// whether it was compiled. Scope is nil for a readiness expression.
func plan(scope *NodeSet, expr string) (p *Program, compiled bool, issues problem.List) {
	key := expr
	if scope != nil {
		key = scope.digest + expr
	}
	if p := programs().get(key); p != nil {
		return p, false, nil
	}
	var t *tree
	if scope != nil {
		t, issues = scope.check(expr)
	} else {
		t, issues = checkReady(expr)
	}
	if len(issues) > 0 {
		return nil, true, issues
	}
	p, err := t.plan()
	if err != nil {
		return nil, true, problem.List{{Message: err.Error()}}
	}
	programs().put(key, p)
	return p, true, nil
}

// NodeSet is the set of nodes that late references of one graph can read. It is
// immutable.
type NodeSet struct {
	// ids are all ids in the order of the graph, for hints about misspelled ids;
	// known is the same as a set.
	ids   []string
	known map[string]bool
	// quoted are the ids that cannot be used as identifiers, for hints. An id "nodes"
	// is left out, because in an expression it usually means the map of all nodes.
	quoted []string
	// digest identifies the ids in the order of the graph.
	digest string
}

// NewNodeSet returns the scope of a graph with the given node ids.
func NewNodeSet(ids []string) *NodeSet {
	s := &NodeSet{ids: ids, known: make(map[string]bool, len(ids))}
	hash := sha256.New()
	for _, id := range ids {
		fmt.Fprintf(hash, "%q ", id)
		s.known[id] = true
		if !Bare(id) && id != "" && id != nodesVariable {
			s.quoted = append(s.quoted, id)
		}
	}
	s.digest = string(hash.Sum(nil))
	return s
}

// Compile parses and checks the expression of a late reference: its syntax, its
// types, and that all nodes that it reads exist. It returns either an expression or
// all problems; after a syntax error it cannot find others. The problems have only a
// message and a hint, because the caller knows the path and the position.
func (s *NodeSet) Compile(expr string) (*Expression, problem.List) {
	p, _, issues := plan(s, expr)
	if len(issues) > 0 {
		return nil, issues
	}
	return p.expression, nil
}

// check is Compile without the cache.
func (s *NodeSet) check(expr string) (*tree, problem.List) {
	env, err := referenceEnvironment()
	if err != nil {
		return nil, problem.List{{Message: err.Error()}}
	}
	if found := checkSource(expr); found != nil {
		return nil, found
	}
	parsed, issues := env.Parse(expr)
	if issues.Err() != nil {
		return nil, s.syntaxIssue(expr, issues)
	}
	if found := checkOperations(parsed.NativeRep()); found != nil {
		return nil, found
	}
	// The resolver works on the untyped tree, before the type check. The checker
	// knows only the variable nodes, so it would report service as undeclared.
	// Unknown ids in nodes["..."] are problems of the resolver, and unknown bare
	// ids of the checker.
	r := newResolver(env, s, parsed.NativeRep())
	r.resolve()
	checked, issues := env.Check(parsed)
	found := r.issues
	if issues.Err() != nil {
		found = append(found, s.checkIssues(expr, issues, parsed.NativeRep())...)
	}
	if len(found) > 0 {
		return nil, unique(found)
	}
	e := &Expression{source: expr, scope: s, nodes: r.nodes}
	return newTree(e, checked, env, nodesVariable), nil
}

// CompileReady parses and checks a readiness expression over the live object. Its
// result must be a boolean. Like [NodeSet.Compile] it returns either an expression or
// problems.
func CompileReady(expr string) (*Expression, problem.List) {
	p, _, issues := plan(nil, expr)
	if len(issues) > 0 {
		return nil, issues
	}
	return p.expression, nil
}

// newTree returns the tree of an expression, and completes the expression.
func newTree(e *Expression, checked *cel.Ast, env *cel.Env, variable string) *tree {
	t := &tree{expression: e, checked: checked, env: env, variable: variable}
	e.selects, e.operations = t.selects(), uint64(operations(checked.NativeRep()))
	return t
}

// checkReady is CompileReady without the cache.
func checkReady(expr string) (*tree, problem.List) {
	env, err := readinessEnvironment()
	if err != nil {
		return nil, problem.List{{Message: err.Error()}}
	}
	if found := checkSource(expr); found != nil {
		return nil, found
	}
	parsed, issues := env.Parse(expr)
	if issues.Err() != nil {
		return nil, problem.List{firstSyntaxIssue(expr, issues)}
	}
	if found := checkOperations(parsed.NativeRep()); found != nil {
		return nil, found
	}
	checked, issues := env.Check(parsed)
	if issues.Err() != nil {
		return nil, unique(readyIssues(expr, issues, parsed.NativeRep()))
	}
	// The fields of the live object have the type dyn, so most expressions yield
	// dyn, too. Whether the value is a boolean is then only known when it is
	// evaluated.
	if t := checked.OutputType(); !t.IsExactType(cel.BoolType) && !t.IsExactType(cel.DynType) {
		return nil, problem.List{{Message: "yields " + article(cel.FormatCELType(t)) + ", not true or false"}}
	}
	return newTree(&Expression{source: expr}, checked, env, objectVariable), nil
}

// unknownNode returns the problem of an id that no node has.
func (s *NodeSet) unknownNode(id string) problem.Problem {
	return problem.Problem{Message: "no node " + quote(id), Hint: source.Hint(id, s.ids)}
}

// unique removes duplicates and keeps the order. Duplicates arise because an
// author often misspells an id in the same way in several places of one
// expression.
func unique(issues problem.List) problem.List {
	var kept problem.List
	for _, issue := range issues {
		if !slices.Contains(kept, issue) {
			kept = append(kept, issue)
		}
	}
	return kept
}
