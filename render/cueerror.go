package render

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pequod-io/pequod/internal/problem"

	cueerrors "cuelang.org/go/cue/errors"
)

func moduleProblem(src Source, format string, args ...any) problem.List {
	return problem.List{{Position: problem.Position{File: src.Ref}, Rule: problem.RuleModule, Message: fmt.Sprintf(format, args...)}}
}

// loadProblems gives load errors one line each: they are of files and imports,
// not of fields.
func loadProblems(src Source, err error) problem.List {
	ps := ModuleProblems(src.Ref, err)
	for i := range ps {
		ps[i].Path = ""
	}
	return ps
}

// ModuleProblems gives errors of CUE about a module one line each, at the
// author's lines; the module's reference stands in where CUE knows none.
func ModuleProblems(ref string, err error) problem.List {
	ps := moduleErrors(err)
	for i := range ps {
		if ps[i].Position.File == "" {
			ps[i].Position.File = ref
		}
	}
	return ps
}

// moduleErrors turns errors of CUE itself into problems at the author's lines.
func moduleErrors(err error) problem.List {
	ps, rest := choices(cueErrors(err))
	for _, e := range rest {
		p := problem.Problem{Rule: problem.RuleModule, Path: errPath(e), Message: errMessage(e)}
		if at := cueerrors.Positions(e); len(at) > 0 {
			p.Position = posOf(at[0])
		}
		if c, ok := conflictOf(e); ok {
			if at, ok := c.place(); ok {
				p.Position = at
			}
		}
		ps = append(ps, p)
	}
	return ps.Sorted()
}

func cueErrors(err error) []cueerrors.Error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []cueerrors.Error
		for _, e := range joined.Unwrap() {
			all = append(all, cueErrors(e)...)
		}
		return all
	}
	return cueerrors.Errors(err)
}

func errPath(e cueerrors.Error) string {
	return shownPath(e.Path())
}

func shownPath(p []string) string {
	var path string
	for _, s := range p {
		if isIndex(s) {
			path += "[" + s + "]"
			continue
		}
		path = joinPath(path, unquoteLabel(s))
	}
	return path
}

// errMessage gives CUE's own words in one line.
func errMessage(e cueerrors.Error) string {
	format, args := e.Msg()
	msg := fmt.Sprintf(format, args...)
	if cause := errors.Unwrap(e); cause != nil && !strings.Contains(msg, cause.Error()) {
		// The cause says the position again.
		text := cause.Error()
		if at := cueerrors.Positions(e); len(at) > 0 {
			text = strings.TrimPrefix(text, at[0].String()+": ")
		}
		msg = strings.TrimPrefix(msg+": "+text, ": ")
	}
	return strings.Join(strings.Fields(msg), " ")
}
