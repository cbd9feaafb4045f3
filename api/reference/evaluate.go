package reference

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// Program is an executable expression. Any number of goroutines may use it.
type Program struct {
	// The tree is where explain searches for the failed access.
	*tree
	// plan returns the plan of the whole expression. It is made for the first
	// evaluation, because it takes as long as the rest of the compilation, and many
	// graphs are only read.
	plan func() (cel.Program, error)
	// limit is the maximum cost of an evaluation.
	limit uint64
}

// The limits of the cost of one evaluation. They count operations and sizes rather
// than time, so an expression that passes on one machine passes on all. That of a
// late reference is the one of validation rules of custom resources, about a tenth
// of a second. A readiness expression is evaluated for every change of its object,
// so its limit is lower.
const (
	maxCost      = celconfig.PerCallLimit
	maxReadyCost = maxCost / 50
)

// MaxTime is how long one evaluation may take, with the search for the cause of an
// error. The limit of the cost ends an evaluation in a fiftieth of this time, unless
// the machine is overloaded or CEL underestimates a function.
const MaxTime = 10 * time.Second

// checkEvery is the number of iterations of comprehensions between two checks of
// the time.
const checkEvery = 100

// evaluation is one evaluation of a program: it carries the deadline and the cost.
type evaluation struct {
	variable string
	data     map[string]any
	deadline time.Time
	cost     uint64
}

// program returns the program of the expression.
func (t *tree) program() *Program {
	most := uint64(maxCost)
	if t.variable == objectVariable {
		most = maxReadyCost
	}
	return &Program{tree: t, limit: most, plan: sync.OnceValues(func() (cel.Program, error) {
		return t.env.Program(t.checked, limits(most)...)
	})}
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
	value, _, err := p.Measure(data)
	return value, err
}

// Measure is Eval, and also returns the cost of the evaluation in CEL's units, of
// which a late reference may use a million. It includes the search for the cause
// of an error.
func (p *Program) Measure(data map[string]any) (value any, cost uint64, err error) {
	return p.measure(data, MaxTime)
}

// measure is Measure with another maximum time.
func (p *Program) measure(data map[string]any, most time.Duration) (any, uint64, error) {
	e := &evaluation{variable: p.variable, data: data, deadline: time.Now().Add(most)}
	value, err := p.evaluate(e)
	if err != nil && !time.Now().Before(e.deadline) {
		err = fmt.Errorf("takes too long: it was stopped after %s", most)
	}
	return value, e.cost, err
}

// bindings returns the variables with their values.
func (e *evaluation) bindings() map[string]any {
	if e.variable != "" {
		return map[string]any{e.variable: e.data}
	}
	return e.data
}

func (p *Program) evaluate(e *evaluation) (any, error) {
	program, err := p.plan()
	if err != nil {
		return nil, err
	}
	result, err := e.run(program)
	if err != nil {
		return nil, p.explain(err, e)
	}
	value, err := plain(result)
	if err != nil {
		return nil, err
	}
	if value == nil {
		// A field that a controller has not set yet is often null rather than absent.
		if what := p.null(e); what != "" {
			return nil, &Missing{What: what}
		}
		return nil, errors.New("yields null; optional.none() leaves a field out")
	}
	return value, nil
}

// run evaluates a program until the deadline, and adds its cost.
func (e *evaluation) run(program cel.Program) (ref.Val, error) {
	ctx, cancel := context.WithDeadline(context.Background(), e.deadline)
	defer cancel()
	result, details, err := program.ContextEval(ctx, e.bindings())
	e.cost += costOf(details, err)
	return result, err
}

// limits returns the options of a program with a maximum cost.
func limits(cost uint64) []cel.ProgramOption {
	return []cel.ProgramOption{guardPlan(), cel.CostLimit(cost), cel.InterruptCheckFrequency(checkEvery)}
}

// costOf returns the cost of an evaluation. One that was stopped because of its
// cost has no details.
func costOf(details *cel.EvalDetails, err error) uint64 {
	if details != nil {
		if cost := details.ActualCost(); cost != nil {
			return *cost
		}
	}
	if err != nil {
		return maxCost
	}
	return 0
}
