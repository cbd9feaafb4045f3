package reference

import (
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/google/cel-go/cel"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source"
)

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

// parsed is an expression within the limits, before its type check.
type parsed struct {
	*cel.Ast
	cost         uint64 // of the type check
	folds        bool   // see Expression
	instructions int    // of literal regular expressions
}

// expression returns the expression without what only the type check finds.
func (p parsed) expression(expr string) *Expression {
	return &Expression{source: expr, cost: p.cost, folds: p.folds, instructions: p.instructions}
}

// parse parses an expression. It returns the syntax errors as CEL does.
func parse(env *cel.Env, expr string, b *Budget) (p parsed, found problem.List, syntax *cel.Issues) {
	if found := b.spend(parseCost(expr)); found != nil {
		return p, found, nil
	}
	if found := checkSource(expr); found != nil {
		return p, found, nil
	}
	p.Ast, syntax = env.Parse(expr)
	if syntax.Err() != nil {
		return p, nil, syntax
	}
	count := countOf(p.NativeRep())
	if found := checkTree(p.NativeRep(), count); found != nil {
		return p, found, nil
	}
	if p.instructions, found = checkPatterns(p.NativeRep()); found != nil {
		return p, found, nil
	}
	p.folds, p.cost = count.folds, checkCost(count, p.instructions)
	if found := b.spend(p.cost); found != nil {
		return p, found, nil
	}
	loosen(p.NativeRep())
	return p, nil, nil
}

// check is Compile without the cache.
func (s *NodeSet) check(expr string, b *Budget) (*tree, problem.List) {
	env, err := referenceEnvironment()
	if err != nil {
		return nil, problem.List{{Message: err.Error()}}
	}
	parsed, found, syntax := parse(env, expr, b)
	switch {
	case found != nil:
		return nil, found
	case syntax != nil:
		return nil, s.syntaxIssue(expr, syntax)
	}
	// The resolver works on the untyped tree, before the type check. The checker
	// knows only the variable nodes, so it would report service as undeclared.
	// Unknown ids in nodes["..."] are problems of the resolver, and unknown bare
	// ids of the checker.
	r := newResolver(env, s, parsed.NativeRep())
	r.resolve()
	checked, issues := env.Check(parsed.Ast)
	found = r.issues
	if issues.Err() != nil {
		found = append(found, s.checkIssues(expr, issues, parsed.NativeRep())...)
	}
	if len(found) > 0 {
		return nil, unique(found)
	}
	e := parsed.expression(expr)
	e.scope, e.nodes = s, r.nodes
	return &tree{expression: e, checked: checked, env: env, variable: nodesVariable}, nil
}

// checkReady is CompileReady without the cache.
func checkReady(expr string, b *Budget) (*tree, problem.List) {
	env, err := readinessEnvironment()
	if err != nil {
		return nil, problem.List{{Message: err.Error()}}
	}
	parsed, found, syntax := parse(env, expr, b)
	switch {
	case found != nil:
		return nil, found
	case syntax != nil:
		return nil, problem.List{firstSyntaxIssue(expr, syntax)}
	}
	checked, issues := env.Check(parsed.Ast)
	if issues.Err() != nil {
		return nil, unique(readyIssues(expr, issues, parsed.NativeRep()))
	}
	// The fields of the live object have the type dyn, so most expressions yield
	// dyn, too. Whether the value is a boolean is then only known when it is
	// evaluated.
	if t := checked.OutputType(); !t.IsExactType(cel.BoolType) && !t.IsExactType(cel.DynType) {
		return nil, problem.List{{Message: "yields " + article(cel.FormatCELType(t)) + ", not true or false"}}
	}
	return &tree{expression: parsed.expression(expr), checked: checked, env: env, variable: objectVariable}, nil
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
