package report

import (
	"bufio"
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pequod-io/pequod/internal/problem"
)

// The JUnit XML that CI systems agree on: https://github.com/testmoapp/junitxml.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Classname string        `xml:"classname,attr"`
		Name      string        `xml:"name,attr"`
		Failure   *junitFailure `xml:"failure"`
		SystemOut string        `xml:"system-out,omitempty"`
	}
	junitFailure struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Body    string `xml:",chardata"`
	}
)

// writeJUnit prints a suite per file and a test case per instance. Readers of
// JUnit XML disagree about several failures in one case, so one failure has all
// errors of an instance, and the output of the case has its warnings and notes.
// Problems of a whole file are a case with the name of the file.
func writeJUnit(w *bufio.Writer, entries []entry, checked []Subject) error {
	bySubject := map[Subject][]entry{}
	subjects := slices.Clone(checked)
	for _, e := range entries {
		s := Subject{e.Position.File, e.Instance}
		bySubject[s] = append(bySubject[s], e)
		subjects = append(subjects, s)
	}
	slices.SortFunc(subjects, func(a, b Subject) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Instance, b.Instance))
	})
	all := junitSuites{Name: "pequod"}
	for _, s := range slices.Compact(subjects) {
		name := oneLine(cmp.Or(s.File, "pequod"))
		if n := len(all.Suites); n == 0 || all.Suites[n-1].Name != name {
			all.Suites = append(all.Suites, junitSuite{Name: name})
		}
		suite := &all.Suites[len(all.Suites)-1]
		c := testCase(name, s, bySubject[s])
		suite.Cases = append(suite.Cases, c)
		suite.Tests++
		all.Tests++
		if c.Failure != nil {
			suite.Failures++
			all.Failures++
		}
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(all); err != nil {
		return err
	}
	return w.WriteByte('\n')
}

// testCase returns the case of one subject with its problems.
func testCase(classname string, s Subject, entries []entry) junitCase {
	c := junitCase{Classname: classname, Name: oneLine(cmp.Or(s.Instance, s.File, "pequod"))}
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
		c.Failure = &junitFailure{
			Message: message,
			Type:    cmp.Or(errors[0].Rule, unnamedRule),
			Body:    strings.Join(failed, "\n"),
		}
	}
	c.SystemOut = strings.Join(other, "\n")
	return c
}
