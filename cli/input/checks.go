package input

import (
	"io"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/report"
	"github.com/pequod-io/pequod/cli/style"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/version"
	"github.com/pequod-io/pequod/render"
)

// ProblemsOf returns err itself if it is a problem.List, and otherwise a list
// with err as its only problem, without a position. It is for errors that belong
// to one document, so that the others are still checked.
func ProblemsOf(err error) problem.List {
	if ps, ok := err.(problem.List); ok {
		return ps
	}
	return problem.List{{Message: err.Error(), Rule: problem.RulePlatform}}
}

// Checks is the result of checking a set of instances or modules. It is the input
// of report.Write. The zero value is ready.
type Checks struct {
	// Subjects are all the things checked, also those without problems.
	Subjects []report.Subject
	// Problems are in the order of the input.
	Problems problem.List
}

// add records the problems of a document. in is nil if the document is no
// instance; it is then listed as "(unreadable)".
func (c *Checks) add(file string, in *render.Instance, ps problem.List) {
	name := "(unreadable)"
	if in != nil {
		name = in.String()
	}
	c.Subjects = append(c.Subjects, report.Subject{File: file, Instance: name})
	c.Problems = append(c.Problems, ps...)
}

// Report writes the problems to stdout in a format of [report.Formats].
func (c Checks) Report(env command.Env, format string) error {
	o := report.Options{Color: style.Colored(env.Out), Version: version.Program()}
	return command.OutputError(report.Write(env.Out, format, c.Problems, c.Subjects, o))
}

// PrintProblems writes the problems as text, one line each. It writes nothing if
// there are none.
func PrintProblems(w io.Writer, sum Checks) error {
	if len(sum.Problems) == 0 {
		return nil
	}
	return report.Write(w, "text", sum.Problems, sum.Subjects, report.Options{Color: style.Colored(w)})
}
