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
	XMLName xml.Name `xml:"testsuites"`
	Name    string   `xml:"name,attr"`
	counts
	Suites []Suite `xml:"testsuite"`
}

// counts has the numbers of cases. Some readers require Errors, which is always 0:
// a check that cannot be finished is a failure.
type counts struct {
	Tests    int `xml:"tests,attr"`
	Failures int `xml:"failures,attr"`
	Errors   int `xml:"errors,attr"`
}

// Suite is a list of test cases, such as those of a file or a module.
type Suite struct {
	Name string `xml:"name,attr"`
	counts
	Cases []Case `xml:"testcase"`
	// Output is printed as the output of the suite, if it is not empty.
	Output string `xml:"system-out,omitempty"`
}

// Case is one test case. A case without a Failure has passed.
type Case struct {
	Suite   string   `xml:"classname,attr"` // set by Write
	Name    string   `xml:"name,attr"`
	Failure *Failure `xml:"failure"`
	// Output is printed as the output of the case, if it is not empty.
	Output string `xml:"system-out,omitempty"`
}

// Failure describes why a case failed.
type Failure struct {
	// Message is one line. Body has the details.
	Message string `xml:"message,attr"`
	// Type is a word for the kind of failure. It may be empty.
	Type string `xml:"type,attr,omitempty"`
	Body string `xml:",chardata"`
}

// Write prints the report with an XML header, indented, and with a newline at the
// end. It sets the counts of the report and the suites of its cases. It returns an
// error only if w does.
func Write(w io.Writer, r Report) error {
	for i := range r.Suites {
		s := &r.Suites[i]
		for k := range s.Cases {
			s.Cases[k].Suite = s.Name
			if s.Cases[k].Failure != nil {
				s.Failures++
			}
		}
		s.Tests = len(s.Cases)
		r.Tests += s.Tests
		r.Failures += s.Failures
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(r); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
