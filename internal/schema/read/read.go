package read

import (
	"fmt"
	"runtime/debug"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/errors"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/schema/cuefault"
	"github.com/pequod-io/pequod/internal/schema/shape"
	"github.com/pequod-io/pequod/internal/schema/syntax"
)

// Result is a definition that was read. Package crdgen writes it as the schema of
// spec or status.
type Result struct {
	// Field describes the definition as a field of the instance.
	Field shape.Field
	// Notes list what CUE demands and Field doesn't. They may repeat.
	Notes problem.List
}

// Value reads v, the definition called name, such as #Input, as the field path of
// an instance, such as spec. Errors have the positions of their causes: errors in
// the schema itself, recursion, and values that admit no struct. The notes are in
// the order in which the reader met their causes.
func Value(v cue.Value, name, path string) (out *Result, err error) {
	defer func() {
		// A panic of the reader itself is a bug and is passed on.
		if r := recover(); r != nil && cuefault.Panics && FromCUE() {
			out, err = nil, errors.Newf(v.Pos(), "%s: CUE can't evaluate it: %v", name, r)
		} else if r != nil {
			panic(r)
		}
	}()
	out, err = readDefinition(v, name, path)
	if err == nil && v.Validate(cue.Concrete(true)) == nil {
		out.Field.Default = defaultOf(v)
	}
	return out, err
}

// FromCUE reports whether the panic that is being recovered came from CUE's
// evaluator. Call it in the deferred function. It looks at the stack below the
// panic, where the frames of the evaluator would be.
func FromCUE() bool {
	stack := string(debug.Stack())
	_, panicking, _ := strings.Cut(stack, "panic(")
	return strings.Contains(panicking, "cuelang.org/go/internal/")
}

// readDefinition is [Value] without the recovery from panics.
func readDefinition(v cue.Value, def, path string) (*Result, error) {
	if !v.Exists() {
		return nil, fmt.Errorf("%s: %w", def, v.Err())
	}
	invalid := v.Validate()
	// An error with a position is better than the reader's own, one without is
	// worse.
	if len(errors.Positions(invalid)) > 0 {
		return nil, fmt.Errorf("%s: %w", def, invalid)
	}
	r := &reader{input: v, taken: map[cue.Value]conjunct{}, parameters: syntax.Parameters{}}
	var s shape.Shape
	var in context
	// A parameter may be used before the value that it is given is read, so the
	// definition is read again if there were unknown ones.
	for known := -1; len(r.parameters) > known; {
		known, r.err = len(r.parameters), nil
		in = context{path: path, pos: v.Pos(), closed: v.IsClosedRecursively(), guarded: new([]syntax.Span), notes: &problem.List{}}
		s = r.shape(v, in, nil)
	}
	rules := r.ownRules(v, in)
	switch {
	// The reader's error comes first.
	case r.err != nil:
		// CUE reports some cycles without a position, but the reader knows one.
		return nil, r.err
	case invalid != nil:
		return nil, errors.Wrapf(invalid, v.Pos(), "%s", def)
	}
	// A definition such as #Input: {...} | string has no CRD.
	for _, t := range s {
		if t.Kind != shape.StructKind {
			return nil, errors.Newf(v.Pos(), "%s: is %v: want a struct", def, v.IncompleteKind())
		}
	}
	if len(s) == 0 {
		return nil, errors.Newf(v.Pos(), "%s: admits no value", def)
	}
	return &Result{Field: shape.Field{Name: path, Shape: s, Description: description(v), Pos: positionOf(v.Pos()), Attributes: rules}, Notes: *in.notes}, nil
}
