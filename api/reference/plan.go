package reference

import (
	"errors"
	"sync"

	"github.com/pequod-io/pequod/internal/problem"
)

// Compile parses and checks the expression of a late reference: its syntax, its
// types, and that all nodes that it reads exist. It returns either an expression or
// all problems; after a syntax error it cannot find others. The problems have only a
// message and a hint, because the caller knows the path and the position. The budget
// is shared with other expressions.
func (s *NodeSet) Compile(expr string, b *Budget) (*Expression, problem.List) {
	if e := s.plain(expr); e != nil {
		if found := b.spend(parseCost(expr) + e.cost); found != nil {
			return nil, found
		}
		return e, nil
	}
	p, issues := plan(s, expr, b)
	if len(issues) > 0 {
		return nil, issues
	}
	return p.expression, nil
}

// CompileReady parses and checks a readiness expression over the live object. Its
// result must be a boolean. Like [NodeSet.Compile] it returns either an expression or
// problems.
func CompileReady(expr string, b *Budget) (*Expression, problem.List) {
	p, issues := plan(nil, expr, b)
	if len(issues) > 0 {
		return nil, issues
	}
	return p.expression, nil
}

// Plan returns the program of the expression, compiling the expression if its
// program was dropped since. Callers evaluate the program and do not keep it.
func (e *Expression) Plan() (*Program, error) {
	p, issues := plan(e.scope, e.source, nil)
	if len(issues) > 0 {
		return nil, errors.New(issues[0].Message)
	}
	return p, nil
}

// programs are the programs of the process.
var programs = sync.OnceValue(newCache)

// plan returns the program of an expression, from the cache or by compilation. Scope
// is nil for a readiness expression.
func plan(scope *NodeSet, expr string, b *Budget) (*Program, problem.List) {
	key := expr
	if scope != nil {
		key = scope.digest + expr
	}
	if p := programs().get(key); p != nil {
		return p, b.spend(parseCost(expr) + p.expression.CompileCost())
	}
	var t *tree
	var issues problem.List
	if scope != nil {
		t, issues = scope.check(expr, b)
	} else {
		t, issues = checkReady(expr, b)
	}
	if len(issues) > 0 {
		return nil, issues
	}
	t.expression.selects = t.selects()
	p := t.program()
	if t.expression.folds {
		if _, err := p.plan(); err != nil {
			return nil, problem.List{{Message: err.Error()}}
		}
	}
	programs().put(key, p)
	return p, nil
}
