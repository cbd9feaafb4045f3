package reference

import (
	"crypto/sha256"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source"
)

// Variables is an environment of expressions over named values of any type, for callers that
// have no graph. It is immutable.
type Variables struct {
	names  []string
	digest string
	env    func() (*cel.Env, error)
}

// NewVariables returns the environment of expressions over variables.
func NewVariables(names ...string) *Variables {
	sum := sha256.Sum256([]byte("variables " + strings.Join(names, " ")))
	return &Variables{names: names, digest: string(sum[:]), env: sync.OnceValues(func() (*cel.Env, error) {
		var options []cel.EnvOption
		for _, name := range names {
			options = append(options, cel.Variable(name, cel.DynType))
		}
		return extend(options...)
	})}
}

// Compile parses and checks an expression. It returns either a program or all problems. The
// data of [Program.Eval] are the values of the variables.
func (v *Variables) Compile(expr string, b *Budget) (*Program, problem.List) {
	if p := programs().get(v.digest + expr); p != nil {
		return p, b.spend(parseCost(expr) + p.expression.CompileCost())
	}
	env, err := v.env()
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
	mix(parsed.NativeRep())
	checked, issues := env.Check(parsed.Ast)
	if issues.Err() != nil {
		var found problem.List
		variables := identifiers(parsed.NativeRep())
		for _, e := range issues.Errors() {
			if name, undeclared := undeclaredName(e.Message); undeclared && variables[e.ExprID] {
				found = append(found, problem.Problem{Message: "no variable " + quote(name), Hint: source.Hint(name, v.names)})
				continue
			}
			found = append(found, checkIssue(expr, e))
		}
		return nil, unique(found)
	}
	p := (&tree{expression: parsed.expression(expr), checked: checked, env: env, variables: v.names}).program()
	if p.expression.folds {
		if _, err := p.plan(); err != nil {
			return nil, problem.List{{Message: err.Error()}}
		}
	}
	programs().put(v.digest+expr, p)
	return p, nil
}
