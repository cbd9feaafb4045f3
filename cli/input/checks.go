package input

import (
	"io"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/report"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/render"
)

// ProblemsOf returns err itself if it is a problem.List, and otherwise a list with
// err as its only problem, without a position.
func ProblemsOf(err error) problem.List {
	if ps, ok := err.(problem.List); ok {
		return ps
	}
	return problem.List{{Message: err.Error(), Rule: problem.RulePlatform}}
}

// Checks is the result of checking a set of instances or modules.
type Checks struct {
	// Subjects are all the things checked, also those without problems.
	Subjects []report.Subject
	// Problems are in the order of the input.
	Problems problem.List
}

// add records the problems of a document. in is nil if it is no instance.
func (c *Checks) add(file string, in *render.Instance, ps problem.List) {
	name := "(unreadable)"
	if in != nil {
		name = in.String()
	}
	c.Subjects = append(c.Subjects, report.Subject{File: file, Instance: name})
	c.Problems = append(c.Problems, ps...)
}

// PrintProblems writes the problems as text, one line each.
func PrintProblems(w io.Writer, sum Checks) error {
	if len(sum.Problems) == 0 {
		return nil
	}
	return report.Write(w, "text", sum.Problems, sum.Subjects, report.Options{Color: command.Colored(w)})
}
