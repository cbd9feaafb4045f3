package moduletest

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pequod-io/pequod/internal/jsonvalue"
	"github.com/pequod-io/pequod/internal/junit"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source"
)

// Report is the result of a test run. The caller fills it from [Run],
// [Result.Update] and [Module.Coverage], and then prints it. In text it reads:
//
//	ok    web/tests/default
//	FAIL  web/tests/large: renders something else
//	      (the difference to graph.yaml)
//	web/render.cue:31:3: no case makes node cert
//	web: 90% covered (10 of 11)
type Report struct {
	// Results are the results of all modules in the order of their cases.
	Results []Result
	// Updated are the goldens that were written or removed.
	Updated []string
	// Modules are the tested modules. Coverage has their coverage in the same
	// order, or is empty.
	Modules  []*Module
	Coverage []Coverage
	// Problems are the reason if a run has no results, such as those of a module that
	// can't be loaded. The text form does not have them.
	Problems problem.List
	// Path converts names of files and directories for all formats but text, which
	// shows them as the user wrote them. It may be nil.
	Path func(file string) string
}

// path converts the name of a file or directory.
func (r *Report) path(file string) string {
	if r.Path == nil {
		return file
	}
	return r.Path(file)
}

// Failed returns the number of failed cases.
func (r *Report) Failed() int {
	n := 0
	for i := range r.Results {
		if r.Results[i].Message != "" {
			n++
		}
	}
	return n
}

// Formats returns the output formats, the default first.
func Formats() []string { return []string{"text", "json", "junit"} }

// Write prints the report in one of the [Formats]. Any other format is printed as
// text; the command line checks the flag before.
func (r *Report) Write(w io.Writer, format string) error {
	switch format {
	case "json":
		return r.json(w)
	case "junit":
		return r.junit(w)
	}
	return r.text(w)
}

// text prints one line for each case, with the details of failures indented below
// it.
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
		b.WriteString(c.text(r.Modules[i].Dir+": ") + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// text returns one line for each missed point, and the percentage after a prefix.
func (c Coverage) text(prefix string) string {
	var b strings.Builder
	for _, p := range c.Missed {
		fmt.Fprintf(&b, "%s:%d:%d: %s\n", p.File, p.Line, p.Column, p.missed())
	}
	fmt.Fprintf(&b, "%s%d%% covered (%d of %d)", prefix, c.Percent(), c.Points-len(c.Missed), c.Points)
	return b.String()
}

// missed returns the message for a point that no case reaches. It names the case
// to add: one with the node, with the value, or with the guard true or false.
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

// Summary returns the number of passed and failed cases as one line without a
// newline.
func (r *Report) Summary() string {
	n, failed := len(r.Results), r.Failed()
	cases := source.Count(n, "case")
	if failed == 0 {
		return cases + ": all passed"
	}
	return fmt.Sprintf("%s: %d passed, %d failed", cases, n-failed, failed)
}

// The JSON form. The lists of cases and of missed points are never null.
type (
	jsonReport struct {
		Cases    []jsonCase     `json:"cases"`
		Updated  []string       `json:"updated,omitempty"`
		Coverage []jsonCoverage `json:"coverage,omitempty"`
		Problems []jsonProblem  `json:"problems,omitempty"`
	}
	jsonProblem struct {
		File    string `json:"file,omitempty"`
		Line    int    `json:"line,omitempty"`
		Column  int    `json:"column,omitempty"`
		Path    string `json:"path,omitempty"`
		Message string `json:"message"`
		Rule    string `json:"rule,omitempty"`
	}
	jsonCase struct {
		Module  string `json:"module"`
		Case    string `json:"case"`
		Passed  bool   `json:"passed"`
		Message string `json:"message,omitempty"`
		Detail  string `json:"detail,omitempty"`
	}
	jsonCoverage struct {
		Module  string   `json:"module"`
		Points  int      `json:"points"`
		Percent int      `json:"percent"`
		Missed  []*Point `json:"missed"`
	}
)

// json prints the report as JSON.
func (r *Report) json(w io.Writer) error {
	out := jsonReport{Cases: []jsonCase{}}
	for _, file := range r.Updated {
		out.Updated = append(out.Updated, r.path(file))
	}
	for i := range r.Results {
		res := &r.Results[i]
		out.Cases = append(out.Cases, jsonCase{r.path(res.Module.Dir), res.Case.Name, res.Message == "", res.Message, res.Detail})
	}
	for i, c := range r.Coverage {
		missed := []*Point{}
		for _, p := range c.Missed {
			moved := *p
			moved.File = r.path(p.File)
			missed = append(missed, &moved)
		}
		out.Coverage = append(out.Coverage, jsonCoverage{r.path(r.Modules[i].Dir), c.Points, c.Percent(), missed})
	}
	for _, p := range r.Problems {
		out.Problems = append(out.Problems, jsonProblem{
			File: r.path(p.Position.File), Line: p.Position.Line, Column: p.Position.Column, Path: p.Path, Message: p.Message, Rule: p.Rule,
		})
	}
	return jsonvalue.Write(w, out)
}

// junit prints the report as JUnit XML with one suite per module. The coverage of
// a module is the output of its suite. Updated goldens are not part of it: a run
// that writes them is not a check. The problems of a run without results are a suite
// with one case, which failed.
func (r *Report) junit(w io.Writer) error {
	all := junit.Report{Name: "pequod module test"}
	suites := map[*Module]int{} // index in all.Suites
	for i := range r.Results {
		res := &r.Results[i]
		at, ok := suites[res.Module]
		if !ok {
			at = len(all.Suites)
			suites[res.Module] = at
			all.Suites = append(all.Suites, junit.Suite{Name: r.path(res.Module.Dir)})
		}
		c := junit.Case{Name: res.Case.Name}
		if res.Message != "" {
			c.Failure = &junit.Failure{Message: res.Message, Body: res.Detail}
		}
		all.Suites[at].Cases = append(all.Suites[at].Cases, c)
	}
	for i, c := range r.Coverage {
		if at, ok := suites[r.Modules[i]]; ok {
			all.Suites[at].Output = c.text("")
		}
	}
	if len(r.Problems) > 0 {
		placed := slices.Clone(r.Problems)
		for i := range placed {
			placed[i].Position.File = r.path(placed[i].Position.File)
		}
		failure := &junit.Failure{Message: placed[0].Message, Body: source.Escape(placed.Error(), "\n")}
		all.Suites = append(all.Suites, junit.Suite{Name: "modules", Cases: []junit.Case{{Name: "load", Failure: failure}}})
	}
	return junit.Write(w, all)
}
