package reference

import (
	"errors"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
)

// Program is an executable expression. Any number of goroutines may use it.
type Program struct {
	// expression has the syntax tree, in which explain searches for the failed
	// access.
	expression *Expression
	// program is the plan of the whole expression.
	program cel.Program
}

// Plan returns the program of the expression. The cost of an evaluation is limited
// as in validation rules of custom resources, to about a tenth of a second. The limit
// counts operations and sizes rather than time, so an expression that passes on one
// machine passes on all.
func (e *Expression) Plan() (*Program, error) {
	// The environment's own options hold the cost limit.
	program, err := e.env.Program(e.checked, guardPlan())
	if err != nil {
		return nil, err
	}
	return &Program{expression: e, program: program}, nil
}

// Missing is the error of an expression that reads a value that does not exist yet:
// a node without a live object, a field, a key, an element of a list, or a null.
// Evaluation may succeed later.
type Missing struct {
	// What describes the missing value, such as service.status.loadBalancer.
	What string
}

// Error returns the message, such as "waits for service.status.loadBalancer".
func (m *Missing) Error() string { return "waits for " + m.What }

// Refusal is the error of an expression that reads a value that it must not read.
// Waiting does not help.
type Refusal struct{ Why string }

// Error returns the reason that was given to [Refuse].
func (r *Refusal) Error() string { return r.Why }

// Refuse returns a placeholder for a value that an expression must not read, for the
// data of [Program.Eval]. The placeholder exists for has() and counts in sizes, but
// reading it ends the evaluation with a *[Refusal] with the text why.
func Refuse(why string) any { return types.WrapErr(&Refusal{Why: why}) }

// Eval evaluates the program over data. For a late reference, data maps node ids to
// live objects, without the nodes that have no live object. For a readiness
// expression, data is the live object. Eval does not change data.
//
// The result is a copy in the types of decoded JSON: a string, int64, float64, bool,
// list or map; or it is [Omitted]. Types that JSON does not have are converted as
// Kubernetes does: timestamps to RFC 3339, durations to the form 1m30s, bytes to
// base64, quantities and addresses to text.
//
// The error is a *[Missing] if a value does not exist yet, and a *[Refusal] if the
// expression reads a refused value. Other errors are permanent until the objects or
// the expression change. They may quote values of the objects.
func (p *Program) Eval(data map[string]any) (any, error) {
	// The second result has details of the evaluation such as its cost. Only the
	// limit matters, and CEL enforces it.
	result, _, err := p.program.Eval(map[string]any{p.expression.variable: data})
	if err != nil {
		return nil, p.explain(err, data)
	}
	value, err := plain(result)
	if err != nil {
		return nil, err
	}
	if value == nil {
		// A field that a controller has not set yet is often null rather than absent.
		if what := p.null(data); what != "" {
			return nil, &Missing{What: what}
		}
		return nil, errors.New("yields null; optional.none() leaves a field out")
	}
	return value, nil
}
