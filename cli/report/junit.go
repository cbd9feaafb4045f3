package report

import (
	"bufio"
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"
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

// writeJUnit prints a suite per file and a test case per instance. Readers
// disagree about several failures in one case, so all errors of an instance
// share one; its other problems are the case's output. Problems of a file as a
// whole are a case of the file's name.
func writeJUnit(w *bufio.Writer, problems []Problem, checked []Subject) error {
	bySubject := map[Subject][]Problem{}
	subjects := slices.Clone(checked)
	for _, p := range problems {
		s := Subject{p.File, p.Instance}
		bySubject[s] = append(bySubject[s], p)
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

func testCase(classname string, s Subject, problems []Problem) junitCase {
	c := junitCase{Classname: classname, Name: oneLine(cmp.Or(s.Instance, s.File, "pequod"))}
	var errors []Problem
	var failed, other []string
	for _, p := range problems {
		line := sentence(p)
		if at := place(p); at != "" {
			line = at + ": " + line
		}
		if p.Severity == Error {
			errors = append(errors, p)
			failed = append(failed, line)
		} else {
			other = append(other, string(p.Severity)+": "+line)
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
