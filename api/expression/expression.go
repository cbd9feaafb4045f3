// Package expression evaluates the CEL expressions of Actions, Monitors and Receivers, with the
// limits and the errors of late references.
//
// [Run] is the environment of expressions over the variable run. The others are those of Monitors
// and Receivers.
package expression

import (
	"errors"
	"fmt"
	"sync"

	"github.com/pequod-io/pequod/api/reference"
)

// Run returns the environment of expressions over the variable run.
var Run = sync.OnceValue(func() *reference.Variables { return reference.NewVariables("run") })

// The environments of the states of Monitors, by their probes.
var (
	Data     = sync.OnceValue(func() *reference.Variables { return reference.NewVariables("data") })
	Response = sync.OnceValue(func() *reference.Variables { return reference.NewVariables("response") })
	Object   = sync.OnceValue(func() *reference.Variables { return reference.NewVariables("object") })
)

// Rule returns the environment of the expressions of rules.
var Rule = sync.OnceValue(func() *reference.Variables {
	return reference.NewVariables("state", "old", "target", "monitor", "rule")
})

// The environments of the expressions of Receivers: over a message, over a message and the object
// that it is about, and over the body of an answer to a poll and its items.
var (
	Message = sync.OnceValue(func() *reference.Variables {
		return reference.NewVariables("headers", "body", "id", "digest")
	})
	MessageObject = sync.OnceValue(func() *reference.Variables {
		return reference.NewVariables("headers", "body", "id", "digest", "object")
	})
	Body = sync.OnceValue(func() *reference.Variables { return reference.NewVariables("body") })
	Item = sync.OnceValue(func() *reference.Variables { return reference.NewVariables("item") })
)

// Selects returns the paths of the fields of a variable that an expression reads, as far as they
// are literal.
func Selects(env *reference.Variables, expr, variable string) []reference.Path {
	p, err := compile(env, expr)
	if err != nil {
		return nil // Check has the error
	}
	return p.Selects(variable)
}

// Check returns the error of an expression that can be found without data.
func Check(env *reference.Variables, expr string) error {
	_, err := compile(env, expr)
	return err
}

// Eval evaluates an expression over the values of the variables.
func Eval(env *reference.Variables, expr string, data map[string]any) (any, error) {
	p, err := compile(env, expr)
	if err != nil {
		return nil, err
	}
	return p.Eval(data)
}

// Allowance limits the cost of several evaluations together, so that many expressions that cost little
// enough each don't keep a worker.
type Allowance struct{ Cost uint64 }

// errSpent is the error of evaluations after the allowance was used up.
var errSpent = errors.New("the expressions together cost too much")

// Eval is [Eval] within the allowance.
func (a *Allowance) Eval(env *reference.Variables, expr string, data map[string]any) (any, error) {
	p, err := compile(env, expr)
	if err != nil {
		return nil, err
	}
	if a.Cost == 0 {
		return nil, errSpent
	}
	value, cost, err := p.Measure(data)
	a.Cost -= min(a.Cost, cost)
	return value, err
}

// Bool is [Bool] within the allowance.
func (a *Allowance) Bool(env *reference.Variables, expr string, data map[string]any) (bool, error) {
	return truth(a.Eval(env, expr, data))
}

// String evaluates an expression that yields a string.
func String(env *reference.Variables, expr string, data map[string]any) (string, error) {
	value, err := Eval(env, expr, data)
	if err != nil {
		return "", err
	}
	text, ok := value.(string)
	if !ok {
		return "", fmt.Errorf("yields %T, not a string", value)
	}
	return text, nil
}

// Bool evaluates an expression that yields true or false. A value that doesn't exist yet is
// false.
func Bool(env *reference.Variables, expr string, data map[string]any) (bool, error) {
	return truth(Eval(env, expr, data))
}

// truth returns a value as true or false.
func truth(value any, err error) (bool, error) {
	if missing := (*reference.Missing)(nil); errors.As(err, &missing) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	yes, ok := value.(bool)
	if !ok {
		return false, fmt.Errorf("yields %T, not true or false", value)
	}
	return yes, nil
}

func compile(env *reference.Variables, expr string) (*reference.Program, error) {
	p, issues := env.Compile(expr, &reference.Budget{})
	if len(issues) > 0 {
		return nil, errors.New(issues[0].Message)
	}
	return p, nil
}
