package reference

import (
	"errors"
	"sync"

	"github.com/pequod-io/pequod/internal/problem"
)

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
	e := t.expression
	e.selects, e.operations = t.selects(), uint64(operations(t.checked.NativeRep()))
	p, err := t.plan()
	if err != nil {
		return nil, true, problem.List{{Message: err.Error()}}
	}
	programs().put(key, p)
	return p, true, nil
}
