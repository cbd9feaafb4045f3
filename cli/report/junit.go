package report

import (
	"bufio"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pequod-io/pequod/internal/junit"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source"
)

// writeJUnit prints a suite per file and a test case per instance. Problems of a
// whole file are a case with the name of the file. Checked instances without
// problems are cases that passed.
func writeJUnit(w *bufio.Writer, entries []entry, checked []Subject) error {
	bySubject := map[Subject][]entry{}
	subjects := slices.Clone(checked)
	for _, e := range entries {
		// The subject of a problem may not be among those checked, for example a
		// file that cannot be parsed.
		s := Subject{e.Position.File, e.Instance}
		bySubject[s] = append(bySubject[s], e)
		subjects = append(subjects, s)
	}
	slices.SortFunc(subjects, func(a, b Subject) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Instance, b.Instance))
	})
	all := junit.Report{Name: "pequod"}
	for _, s := range slices.Compact(subjects) {
		name := source.Escape(cmp.Or(s.File, "pequod"), "")
		// Subjects are sorted by file, so a suite is complete when the name changes.
		if n := len(all.Suites); n == 0 || all.Suites[n-1].Name != name {
			all.Suites = append(all.Suites, junit.Suite{Name: name})
		}
		suite := &all.Suites[len(all.Suites)-1]
		suite.Cases = append(suite.Cases, testCase(s, bySubject[s]))
	}
	return junit.Write(w, all)
}

// testCase returns the case of one subject. Readers of JUnit XML disagree about
// several failures in one case, so one failure has all errors of the subject, and
// the output of the case has its warnings and notes.
func testCase(s Subject, entries []entry) junit.Case {
	c := junit.Case{Name: source.Escape(cmp.Or(s.Instance, s.File, "pequod"), "")}
	var errors []entry
	var failed, other []string
	for _, e := range entries {
		line := sentence(e)
		if at := subject(e); at != "" {
			line = at + ": " + line
		}
		if e.Severity == problem.Error {
			errors = append(errors, e)
			failed = append(failed, line)
		} else {
			other = append(other, e.Severity.String()+": "+line)
		}
	}
	if len(errors) > 0 {
		message := sentence(errors[0])
		if more := len(errors) - 1; more > 0 {
			message += fmt.Sprintf(" (and %d more)", more)
		}
		c.Failure = &junit.Failure{
			Message: message,
			Type:    cmp.Or(errors[0].Rule, unnamedRule),
			Body:    strings.Join(failed, "\n"),
		}
	}
	c.Output = strings.Join(other, "\n")
	return c
}
