package reference

import (
	"errors"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
)

// Program is an expression that is ready to run. Any number of goroutines may
// use it.
type Program struct {
	expression *Expression
	program    cel.Program
}

// Plan makes a program of the expression. What a run may cost is bounded as
// Kubernetes bounds the rules of custom resources, to about a tenth of a second.
// The bound counts steps and sizes, not time, so that what passes on one
// machine passes on every machine.
func (e *Expression) Plan() (*Program, error) {
	// The environment's own options hold the cost limit.
	program, err := e.env.Program(e.checked)
	if err != nil {
		return nil, err
	}
	return &Program{expression: e, program: program}, nil
}

// Missing is the error of an expression that reads what isn't there yet: a
// node without live object, a field, a key, an element of a list, or a null.
type Missing struct {
	// What says what isn't there, such as service.status.loadBalancer.
	What string
}

func (m *Missing) Error() string { return "waits for " + m.What }

// Refusal is the error of an expression that reads what it may not.
type Refusal struct{ Why string }

func (r *Refusal) Error() string { return r.Why }

// Refuse returns a value to put into the data of [Program.Eval] in place of one
// that may not be read. It is there for has() and in sizes, and an expression
// that reads it ends in a *[Refusal].
func Refuse(why string) any { return types.WrapErr(&Refusal{Why: why}) }

// Eval runs the program over data: the live objects by node id for a late
// reference, the live object for a readiness expression. Nodes without a live
// object aren't in the map.
//
// The result is what JSON would decode to, and shares nothing with data: a
// string, int64, float64, bool, list or map, or [Omitted]. Values that JSON
// doesn't have come as Kubernetes writes them: timestamps in RFC 3339,
// durations as 1m30s, bytes in base64, quantities and addresses as text.
//
// The error is a *[Missing] if something isn't there yet, and a *[Refusal] if
// the expression reads what it may not. Any other stays until the objects or
// the expression change; it may quote values of the objects.
func (p *Program) Eval(data map[string]any) (any, error) {
	result, _, err := p.program.Eval(map[string]any{p.expression.variable: data})
	if err != nil {
		return nil, p.explain(err, data)
	}
	value, err := plain(result)
	if err != nil {
		return nil, err
	}
	if value == nil {
		// What a controller hasn't filled in is often null rather than absent.
		if what := p.null(data); what != "" {
			return nil, &Missing{What: what}
		}
		return nil, errors.New("yields null; optional.none() leaves a field out")
	}
	return value, nil
}
