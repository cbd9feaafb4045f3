package reference

import (
	"errors"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"github.com/pequod-io/pequod/internal/source"
)

// maxMessage limits the length of an error message in bytes, because CEL quotes
// values of any length.
const maxMessage = 300

// explain converts an error of CEL to a *[Missing], a *[Refusal], or a permanent
// error in one line. CEL has the same message for a missing field of a map and for a
// field of a string, so explain looks up the failed access in the data.
func (p *Program) explain(err error, of *evaluation) error {
	var refusal *Refusal
	if errors.As(err, &refusal) {
		return refusal
	}
	message := err.Error()
	if key, ok := missingKey(message); ok {
		return p.explainMissing(err, key, of)
	}
	switch {
	case message == "optional.none() dereference":
		return p.explainMissing(err, "", of)
	case strings.HasSuffix(message, " called on empty list"):
		return &Missing{What: "an element: " + message}
	case strings.HasPrefix(message, "no such overload"):
		if what := p.null(of); what != "" {
			return &Missing{What: what}
		}
		return errors.New(p.overload(of))
	case strings.Contains(message, "actual cost limit exceeded"):
		return errors.New("takes too long: it exceeds the cost limit of an expression")
	}
	return errors.New(source.OneLine(message, maxMessage))
}

// missingKey returns the key or index in CEL's messages about missing keys and
// indexes, and false for other messages. The texts are those of cel-go. If an
// update of cel-go changes one, a missing value becomes a permanent error; the
// package's tests notice that.
func missingKey(message string) (string, bool) {
	for _, prefix := range []string{"no such key: ", "index out of bounds: "} {
		if key, ok := strings.CutPrefix(message, prefix); ok {
			return key, true
		}
	}
	if rest, ok := strings.CutPrefix(message, "index '"); ok {
		key, _, found := strings.Cut(rest, "' out of range in list size '")
		return key, found
	}
	return "", false
}

// explainMissing follows the access that failed through the data, to name the
// missing value or to find that the access can never succeed. If it cannot follow
// the access, it returns a *[Missing]: waiting for a value that never appears ends
// with a timeout that names it, but a permanent error for a value that would have
// appeared fails the node for good.
func (p *Program) explainMissing(err error, key string, of *evaluation) error {
	what := "an optional value"
	if key != "" {
		what = "a field or element " + quote(source.OneLine(key, maxMessage))
	}
	var failed *types.Err
	if !errors.As(err, &failed) {
		return &Missing{What: what}
	}
	w := p.walker(of)
	e := w.find(failed.NodeID())
	if e == nil {
		return &Missing{What: what}
	}
	if key == "" && e.Kind() == ast.CallKind && e.AsCall().IsMemberFunction() {
		e = e.AsCall().Target() // value() only unwraps its target
	}
	// An access in a comprehension has one end for each element. The first end
	// that explains the error is reported.
	for _, end := range w.follow(e) {
		switch end.state {
		case absent:
			return &Missing{What: end.path}
		case null:
			return &Missing{What: end.path + ", which is null"}
		case mistaken:
			return errors.New(end.path)
		}
	}
	return &Missing{What: what}
}

// null describes the first null that the expression reads outside of
// comprehensions, or returns "" if it reads none. Reads that use a variable of a
// comprehension are skipped, because it has no single value. A null explains both
// a null result and an operator without an overload: a controller often writes
// null before it writes the value.
func (p *Program) null(of *evaluation) string {
	w := p.walker(of)
	found := ""
	ast.PostOrderVisit(p.checked.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if _, _, ok := selection(e); !ok || found != "" || !w.closed(e) {
			return
		}
		for _, end := range w.follow(e) {
			if end.state == null || end.state == present && end.value == nil {
				found = end.path + ", which is null"
				return
			}
		}
	}))
	return found
}

// overload returns the message for the first operator or function that has no
// overload for the types of its arguments. It evaluates the calls again, the
// innermost first, until one fails by itself. For service.spec.replicas + "x"
// with 3 replicas the message is "+ doesn't take a number and a string".
func (p *Program) overload(of *evaluation) string {
	w := p.walker(of)
	message := ""
	ast.PostOrderVisit(p.checked.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if message != "" || e.Kind() != ast.CallKind || !w.closed(e) {
			return
		}
		if _, err := w.run(e); err == nil || !strings.HasPrefix(err.Error(), "no such overload") {
			return
		}
		call := e.AsCall()
		args := call.Args()
		if call.IsMemberFunction() {
			args = append([]ast.Expr{call.Target()}, args...)
		}
		var names []string
		for _, arg := range args {
			value, err := w.run(arg)
			if err != nil {
				return
			}
			names = append(names, valueName(value))
		}
		message = callName(call) + " doesn't take " + strings.Join(names, " and ")
	}))
	if message == "" {
		return "a value has a type that its operator or function doesn't take"
	}
	return message
}

// callName returns the operator or function of a call as it is written in CEL.
func callName(call ast.CallExpr) string {
	switch name := call.FunctionName(); name {
	case operators.Conditional:
		return "?:"
	case operators.Negate:
		return "-"
	default:
		if operator, ok := operators.FindReverse(name); ok && operator != "" {
			return operator
		}
		return name + "()"
	}
}

// valueName returns the type of a CEL result with an article, for messages.
func valueName(v any) string {
	if _, isType := v.(*cel.Type); isType {
		return "a type"
	}
	return typeName(v)
}
