package render

import (
	"fmt"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/cueerror"
)

func moduleProblem(src Source, format string, args ...any) problem.List {
	return problem.List{{Position: problem.Position{File: src.Ref}, Rule: problem.RuleModule, Message: fmt.Sprintf(format, args...)}}
}

// loadProblems gives load errors one line each: they are of files and imports,
// not of fields.
func loadProblems(src Source, err error) problem.List {
	ps := cueerror.ProblemsIn(src.Ref, err)
	for i := range ps {
		ps[i].Path = ""
	}
	return ps
}
