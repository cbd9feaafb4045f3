package cueerror

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue/ast"
	cueerrors "cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/parser"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
)

// conflict is an error of CUE about two values or types that exclude each
// other.
type conflict struct {
	// values are the two sides as CUE prints them, and positions where they are
	// written. In the errors of an enumeration the allowed value is first.
	values    [2]string
	positions [2]problem.Position
}

// conflictOf returns the conflict that an error describes. CUE has no error
// types, so the message format has to tell.
func conflictOf(e cueerrors.Error) (conflict, bool) {
	format, args := e.Msg()
	at := e.InputPositions()
	if !strings.HasPrefix(format, "conflicting values %s and %s") || len(args) < 2 || len(at) < 2 {
		return conflict{}, false
	}
	var c conflict
	for i := range c.values {
		c.values[i], c.positions[i] = fmt.Sprint(args[i]), cuesyntax.Position(at[i])
	}
	return c, true
}

// valuePosition returns the position of the side that is a plain value, since
// the author can correct a value more likely than a type. If both sides are
// plain values it returns the first position in the file.
func (c conflict) valuePosition() (problem.Position, bool) {
	var found []problem.Position
	for i, v := range c.values {
		if isScalar(v) && c.positions[i].File != "" {
			found = append(found, c.positions[i])
		}
	}
	if len(found) == 0 {
		return problem.Position{}, false
	}
	return slices.MinFunc(found, func(a, b problem.Position) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	}), true
}

// isScalar reports whether CUE source text is a plain value, such as "a" or -1.
func isScalar(text string) bool {
	e, err := parser.ParseExpr("value", text)
	if u, ok := e.(*ast.UnaryExpr); ok && err == nil {
		e = u.X
	}
	_, ok := e.(*ast.BasicLit)
	return ok && err == nil
}

// enumerations finds values that are none of an enumeration's. For each CUE
// reports a summary and a conflict with every allowed value, all with the same
// path and next to each other; enumerations makes one problem of them. It returns
// the other errors unchanged, in their order.
func enumerations(errs []cueerrors.Error) (problem.List, []cueerrors.Error) {
	var ps problem.List
	var rest []cueerrors.Error
	for len(errs) > 0 {
		path := Path(errs[0])
		n := 1
		for n < len(errs) && Path(errs[n]) == path {
			n++
		}
		if p, ok := enumeration(errs[:n]); ok {
			p.Path = path
			ps = append(ps, p)
		} else {
			rest = append(rest, errs[:n]...)
		}
		errs = errs[n:]
	}
	return ps, rest
}

// enumeration returns one problem for the errors of one path, if all of them
// compare the same plain value with plain values. Anything else, such as a
// disjunction with structs, is left to the general rules. The position is that of
// the rejected value.
func enumeration(errs []cueerrors.Error) (problem.Problem, bool) {
	if format, _ := errs[0].Msg(); len(errs) < 3 || !strings.Contains(format, "errors in empty disjunction") {
		return problem.Problem{}, false
	}
	var value string
	var allowed, names []string
	p := problem.Problem{Rule: problem.RuleModule}
	for _, e := range errs[1:] {
		c, ok := conflictOf(e)
		if !ok || !isScalar(c.values[0]) || !isScalar(c.values[1]) || value != "" && c.values[1] != value {
			return problem.Problem{}, false
		}
		value, p.Position = c.values[1], c.positions[1]
		allowed = append(allowed, c.values[0])
		if name, err := strconv.Unquote(c.values[0]); err == nil {
			names = append(names, name)
		}
	}
	p.Message = fmt.Sprintf("%s is not one of %s", value, strings.Join(allowed, ", "))
	if got, err := strconv.Unquote(value); err == nil {
		p.Hint = source.Hint(got, names)
	}
	return p, true
}
