package render

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pequod-io/pequod/internal/problem"

	"cuelang.org/go/cue/ast"
	cueerrors "cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/parser"

	"github.com/pequod-io/pequod/internal/source"
)

// conflict is an error of CUE about two values, or types, that exclude each other.
type conflict struct {
	values [2]string
	pos    [2]problem.Position
}

func conflictOf(e cueerrors.Error) (conflict, bool) {
	format, args := e.Msg()
	at := e.InputPositions()
	if !strings.HasPrefix(format, "conflicting values %s and %s") || len(args) < 2 || len(at) < 2 {
		return conflict{}, false
	}
	var c conflict
	for i := range c.values {
		c.values[i], c.pos[i] = fmt.Sprint(args[i]), posOf(at[i])
	}
	return c, true
}

// place is that of a value rather than that of a type, for its author can mend
// it; of two values it is the first.
func (c conflict) place() (problem.Position, bool) {
	var found []problem.Position
	for i, v := range c.values {
		if scalarText(v) && c.pos[i].File != "" {
			found = append(found, c.pos[i])
		}
	}
	if len(found) == 0 {
		return problem.Position{}, false
	}
	return slices.MinFunc(found, func(a, b problem.Position) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	}), true
}

func scalarText(text string) bool {
	e, err := parser.ParseExpr("value", text)
	if u, ok := e.(*ast.UnaryExpr); ok && err == nil {
		e = u.X
	}
	_, ok := e.(*ast.BasicLit)
	return ok && err == nil
}

// choices makes one problem of what CUE says of a value that is none of those
// allowed: a summary, and a conflict with each of them. It gives the others
// back.
func choices(errs []cueerrors.Error) (problem.List, []cueerrors.Error) {
	var ps problem.List
	var rest []cueerrors.Error
	for len(errs) > 0 {
		path := errPath(errs[0])
		n := 1
		for n < len(errs) && errPath(errs[n]) == path {
			n++
		}
		if p, ok := choice(errs[:n]); ok {
			p.Path = path
			ps = append(ps, p)
		} else {
			rest = append(rest, errs[:n]...)
		}
		errs = errs[n:]
	}
	return ps, rest
}

// choice is such a problem, if the errors of one path are about a value and all
// that it may be.
func choice(errs []cueerrors.Error) (problem.Problem, bool) {
	if format, _ := errs[0].Msg(); len(errs) < 3 || !strings.Contains(format, "errors in empty disjunction") {
		return problem.Problem{}, false
	}
	var value string
	var allowed, names []string
	p := problem.Problem{Rule: problem.RuleModule}
	for _, e := range errs[1:] {
		c, ok := conflictOf(e)
		if !ok || !scalarText(c.values[0]) || !scalarText(c.values[1]) || value != "" && c.values[1] != value {
			return problem.Problem{}, false
		}
		value, p.Position = c.values[1], c.pos[1]
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
