package input

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/files"
	"github.com/pequod-io/pequod/cli/report"
	"github.com/pequod-io/pequod/cli/style"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source"
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
	// clusters has the names of the clusters with a problem, for instances that are rendered
	// for several.
	clusters map[problem.Problem][]string
}

// add records the problems of a document. in is nil if the document is no
// instance; it is then listed as "(unreadable)".
func (c *Checks) add(file string, in *render.Instance, ps problem.List) {
	name := "(unreadable)"
	if in != nil {
		name = in.String()
	}
	if in == nil || in.Cluster == "" {
		c.Subjects = append(c.Subjects, report.Subject{File: file, Instance: name})
		c.Problems = append(c.Problems, ps...)
		return
	}
	if s := (report.Subject{File: file, Instance: name}); !slices.Contains(c.Subjects[max(0, len(c.Subjects)-1):], s) {
		c.Subjects = append(c.Subjects, s)
	}
	if c.clusters == nil {
		c.clusters = map[problem.Problem][]string{}
	}
	for _, p := range ps {
		if c.clusters[p] = append(c.clusters[p], in.Cluster); len(c.clusters[p]) == 1 {
			c.Problems = append(c.Problems, p)
		}
	}
}

// Report writes the problems to stdout in a format of [report.Formats].
func (c Checks) Report(env command.Env, format string) error {
	o := report.Options{Color: style.Colored(env.Out), Version: version.Program(), Path: files.RepositoryPaths()}
	return command.OutputError(report.Write(env.Out, format, c.Problems, c.Subjects, o))
}

// Fail ends a command whose result is incomplete because of err, such as a module
// that can't be loaded. With the format text, which people read, it returns err
// itself. The other formats are read by programs, which expect a report in any case:
// Fail writes one to stdout, of the problems so far and of err, and returns the
// error for the exit code. An interrupt is not reported.
func (c Checks) Fail(env command.Env, format string, err error) error {
	if format == "text" || errors.Is(err, context.Canceled) {
		return err
	}
	exit := command.ExitError{}
	var broken problem.List
	if !errors.As(err, &broken) {
		// There is no position, and people look for the reason on stderr.
		broken = problem.List{{Rule: problem.RuleUnchecked, Message: err.Error()}}
		exit.Causes = []error{err}
	}
	c.Problems = append(c.Problems, broken...)
	if err := c.Report(env, format); err != nil {
		return err
	}
	exit.Code = command.ProblemsExitCode(c.Problems)
	return exit
}

// PrintProblems writes the problems as text, one line each. It writes nothing if
// there are none.
func PrintProblems(w io.Writer, sum Checks) error {
	if len(sum.Problems) == 0 {
		return nil
	}
	return report.Write(w, "text", sum.Problems, sum.Subjects, report.Options{Color: style.Colored(w)})
}

// PrintStale writes the files that are out of date to stdout, one line each, and a
// summary to stderr. It writes nothing if there are none.
func PrintStale(env command.Env, stale problem.List) error {
	if len(stale) == 0 {
		return nil
	}
	err := report.Write(env.Out, "text", stale, nil, report.Options{Color: style.Colored(env.Out)})
	fmt.Fprintf(env.Err, "pequod: %s out of date; run the command without --check\n", source.Count(len(stale), "file"))
	return command.OutputError(err)
}
