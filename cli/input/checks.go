package input

import (
	"io"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/report"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/render"
)

// problemsOf gives the problems in an error, or the error as one without a place.
func ProblemsOf(err error) problem.List {
	if ps, ok := err.(problem.List); ok {
		return ps
	}
	return problem.List{{Message: err.Error(), Rule: problem.RulePlatform}}
}

// checks gathers what was looked at and what was found.
type Checks struct {
	Subjects []report.Subject
	Problems problem.List
}

func (c *Checks) add(file string, in *render.Instance, ps problem.List) {
	name := "(unreadable)"
	if in != nil {
		name = in.String()
	}
	c.Subjects = append(c.Subjects, report.Subject{File: file, Instance: name})
	c.Problems = append(c.Problems, ps...)
}

// printProblems writes problems as text, one line each.
func PrintProblems(w io.Writer, sum Checks) error {
	if len(sum.Problems) == 0 {
		return nil
	}
	return report.Write(w, "text", sum.Problems, sum.Subjects, report.Options{Color: command.Colored(w)})
}
