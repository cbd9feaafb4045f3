// Package junit writes test results in the JUnit XML that CI systems read:
// https://github.com/testmoapp/junitxml.
//
// [Write] counts the cases and failures of a [Report]. The caller decides what a
// suite and a case are. The package escapes what XML cannot contain, but does
// not shorten or sort anything.
package junit

import (
	"encoding/xml"
	"io"
)

// Report is a set of test suites.
type Report struct {
	Name   string
	Suites []Suite
	// ErrorCounts adds the attribute errors="0" to the report and its suites.
	// Some readers require it. Pequod reports failures only: a program that
	// cannot finish its checks writes no report.
	ErrorCounts bool
}

// Suite is a list of test cases, such as those of a file or a module.
type Suite struct {
	Name  string
	Cases []Case
	// Output is printed as the output of the suite, if it is not empty.
	Output string
}

// Case is one test case. A case without a Failure has passed.
type Case struct {
	Name    string
	Failure *Failure
	// Output is printed as the output of the case, if it is not empty.
	Output string
}

// Failure describes why a case failed.
type Failure struct {
	// Message is one line. Body has the details.
	Message, Body string
	// Type is a word for the kind of failure. It may be empty.
	Type string
}

// The elements, in the order in which they are written.
type (
	suitesElement struct {
		XMLName  xml.Name       `xml:"testsuites"`
		Name     string         `xml:"name,attr"`
		Tests    int            `xml:"tests,attr"`
		Failures int            `xml:"failures,attr"`
		Errors   string         `xml:"errors,attr,omitempty"`
		Suites   []suiteElement `xml:"testsuite"`
	}
	suiteElement struct {
		Name     string        `xml:"name,attr"`
		Tests    int           `xml:"tests,attr"`
		Failures int           `xml:"failures,attr"`
		Errors   string        `xml:"errors,attr,omitempty"`
		Cases    []caseElement `xml:"testcase"`
		Output   string        `xml:"system-out,omitempty"`
	}
	caseElement struct {
		Classname string          `xml:"classname,attr"` // the name of the suite
		Name      string          `xml:"name,attr"`
		Failure   *failureElement `xml:"failure"`
		Output    string          `xml:"system-out,omitempty"`
	}
	failureElement struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		Body    string `xml:",chardata"`
	}
)

// Write prints the report with an XML header, indented, and with a newline at the
// end. It returns an error only if w does.
func Write(w io.Writer, r Report) error {
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(r.element()); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// element converts the report, and counts cases and failures.
func (r Report) element() suitesElement {
	errors := ""
	if r.ErrorCounts {
		errors = "0"
	}
	all := suitesElement{Name: r.Name, Errors: errors}
	for _, s := range r.Suites {
		suite := suiteElement{Name: s.Name, Tests: len(s.Cases), Errors: errors, Output: s.Output}
		for _, c := range s.Cases {
			element := caseElement{Classname: s.Name, Name: c.Name, Output: c.Output}
			if f := c.Failure; f != nil {
				element.Failure = &failureElement{f.Message, f.Type, f.Body}
				suite.Failures++
			}
			suite.Cases = append(suite.Cases, element)
		}
		all.Tests += suite.Tests
		all.Failures += suite.Failures
		all.Suites = append(all.Suites, suite)
	}
	return all
}
