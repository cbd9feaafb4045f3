package moduletest

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

// Report is what was found out, as [Report.Write] prints it.
type Report struct {
	Results []Result
	// Updated are the files that were written.
	Updated []string
	// Coverage is in the order of Modules, or empty.
	Modules  []*Module
	Coverage []Coverage
}

// Failed counts the cases that didn't pass.
func (r *Report) Failed() int {
	n := 0
	for i := range r.Results {
		if r.Results[i].Message != "" {
			n++
		}
	}
	return n
}

// Formats lists what Write can write, the default first.
func Formats() []string { return []string{"text", "json", "junit"} }

// Write prints the report in one of the formats.
func (r *Report) Write(w io.Writer, format string) error {
	switch format {
	case "json":
		return r.json(w)
	case "junit":
		return r.junit(w)
	}
	return r.text(w)
}

func (r *Report) text(w io.Writer) error {
	var b strings.Builder
	for i := range r.Results {
		res := &r.Results[i]
		at := res.Module.pathOf(res.Case, "")
		if res.Message == "" {
			fmt.Fprintf(&b, "ok    %s\n", at)
			continue
		}
		fmt.Fprintf(&b, "FAIL  %s: %s\n", at, res.Message)
		for line := range strings.Lines(res.Detail) {
			b.WriteString("      " + strings.TrimRight(line, "\n") + "\n")
		}
	}
	for _, file := range r.Updated {
		fmt.Fprintf(&b, "wrote %s\n", file)
	}
	for i, c := range r.Coverage {
		for _, p := range c.Missed {
			fmt.Fprintf(&b, "%s:%d:%d: %s\n", p.File, p.Line, p.Column, p.missed())
		}
		fmt.Fprintf(&b, "%s: %d%% covered (%d of %d)\n", r.Modules[i].Dir, c.Percent(), c.Points-len(c.Missed), c.Points)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// missed says what no case does.
func (p *Point) missed() string {
	switch p.Kind {
	case PointNode:
		return "no case makes node " + p.Text
	case PointValue:
		return "no case has " + p.Text
	case PointElse:
		return "no case does without " + p.Text
	case PointBranch:
	}
	return "no case gets to " + p.Text
}

// Summary says how many cases there were, in one line without its end.
func (r *Report) Summary() string {
	n, failed := len(r.Results), r.Failed()
	cases := fmt.Sprintf("%d cases", n)
	if n == 1 {
		cases = "1 case"
	}
	if failed == 0 {
		return cases + ": all passed"
	}
	return fmt.Sprintf("%s: %d passed, %d failed", cases, n-failed, failed)
}

// The JSON form.
type (
	jsonReport struct {
		Cases    []jsonCase     `json:"cases"`
		Updated  []string       `json:"updated,omitempty"`
		Coverage []jsonCoverage `json:"coverage,omitempty"`
	}
	jsonCase struct {
		Module  string `json:"module"`
		Case    string `json:"case"`
		Passed  bool   `json:"passed"`
		Message string `json:"message,omitempty"`
		Detail  string `json:"detail,omitempty"`
	}
	jsonCoverage struct {
		Module  string      `json:"module"`
		Points  int         `json:"points"`
		Percent int         `json:"percent"`
		Missed  []jsonPoint `json:"missed"`
	}
	jsonPoint struct {
		File   string    `json:"file"`
		Line   int       `json:"line"`
		Column int       `json:"column"`
		Kind   PointKind `json:"kind"`
		Text   string    `json:"text"`
	}
)

func (r *Report) json(w io.Writer) error {
	out := jsonReport{Cases: []jsonCase{}, Updated: r.Updated}
	for i := range r.Results {
		res := &r.Results[i]
		out.Cases = append(out.Cases, jsonCase{res.Module.Dir, res.Case.Name, res.Message == "", res.Message, res.Detail})
	}
	for i, c := range r.Coverage {
		j := jsonCoverage{r.Modules[i].Dir, c.Points, c.Percent(), []jsonPoint{}}
		for _, p := range c.Missed {
			j.Missed = append(j.Missed, jsonPoint{p.File, p.Line, p.Column, p.Kind, p.Text})
		}
		out.Coverage = append(out.Coverage, j)
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(out)
}

// The JUnit form.
type (
	junitSuites struct {
		XMLName  xml.Name      `xml:"testsuites"`
		Name     string        `xml:"name,attr"`
		Tests    int           `xml:"tests,attr"`
		Failures int           `xml:"failures,attr"`
		Suites   []*junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name      string      `xml:"name,attr"`
		Tests     int         `xml:"tests,attr"`
		Failures  int         `xml:"failures,attr"`
		Cases     []junitCase `xml:"testcase"`
		SystemOut string      `xml:"system-out,omitempty"`
	}
	junitCase struct {
		Classname string        `xml:"classname,attr"`
		Name      string        `xml:"name,attr"`
		Failure   *junitFailure `xml:"failure"`
	}
	junitFailure struct {
		Message string `xml:"message,attr"`
		Body    string `xml:",chardata"`
	}
)

func (r *Report) junit(w io.Writer) error {
	all := junitSuites{Name: "pequod module test", Tests: len(r.Results), Failures: r.Failed()}
	suites := map[*Module]*junitSuite{}
	for i := range r.Results {
		res := &r.Results[i]
		s := suites[res.Module]
		if s == nil {
			s = &junitSuite{Name: res.Module.Dir}
			suites[res.Module] = s
			all.Suites = append(all.Suites, s)
		}
		c := junitCase{Classname: res.Module.Dir, Name: res.Case.Name}
		s.Tests++
		if res.Message != "" {
			c.Failure = &junitFailure{Message: res.Message, Body: res.Detail}
			s.Failures++
		}
		s.Cases = append(s.Cases, c)
	}
	for i, c := range r.Coverage {
		var b strings.Builder
		for _, p := range c.Missed {
			fmt.Fprintf(&b, "%s:%d:%d: %s\n", p.File, p.Line, p.Column, p.missed())
		}
		fmt.Fprintf(&b, "%d%% covered (%d of %d)", c.Percent(), c.Points-len(c.Missed), c.Points)
		if s := suites[r.Modules[i]]; s != nil {
			s.SystemOut = b.String()
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
	_, err := io.WriteString(w, "\n")
	return err
}
