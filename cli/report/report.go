// Package report prints problems that have a place in a user's file: as lines
// for people, or in the formats that continuous integration reads.
//
// [Write] is the entry point. It sorts the problems and drops repeated ones,
// so the order in which they were found doesn't show. The formats are
//
//	text    app.yaml:7:9: spec.port: 70000 is not <=65535 (webservice/schema.cue:8:14)
//	json    an array of problems, see [Problem]
//	github  workflow commands, which GitHub shows in the pull request's diff
//	sarif   SARIF 2.1.0, one run, for code scanning
//	junit   JUnit XML, one test case per instance checked
//
// The package finds no problems and picks no exit code.
package report

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Severity ranks a problem; the zero value counts as Error.
type Severity string

// The severities.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Note    Severity = "note"
)

// Problem is one mistake. Its JSON form is what -o json prints.
type Problem struct {
	// File is the user's file, as the user named it, with slashes. Line and
	// Column count from 1; Line 0 means no place in the file is known.
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	// Path is the field, such as spec.port.
	Path    string `json:"path,omitempty"`
	Message string `json:"message"`
	// Hint is the remedy where it is known: did you mean "image"?
	Hint string `json:"hint,omitempty"`
	// Rule is the stable id of what was broken, such as constraint or required.
	Rule string `json:"rule,omitempty"`
	// RuleAt is where that rule is written: webservice/schema.cue:8:14.
	RuleAt   string   `json:"ruleAt,omitempty"`
	Severity Severity `json:"severity"`
	// Instance is the object that the problem is in: WebService default/web.
	Instance string `json:"instance,omitempty"`
}

// Subject is one instance that was checked, whether or not it has problems.
type Subject struct {
	File, Instance string
}

// Options are what Write needs besides the problems.
type Options struct {
	// Color colours the text format.
	Color bool
	// Version of pequod, for the sarif format.
	Version string
}

// Formats lists what Write can write, the default first.
func Formats() []string { return []string{"text", "json", "github", "sarif", "junit"} }

// Write prints problems in one of Formats. An unknown format is an error, and
// so is whatever w returns.
func Write(w io.Writer, format string, problems []Problem, checked []Subject, o Options) error {
	problems = tidy(problems)
	out := bufio.NewWriter(w)
	var err error
	switch format {
	case "text":
		err = writeText(out, problems, o.Color)
	case "json":
		err = writeJSON(out, problems)
	case "github":
		err = writeGitHub(out, problems)
	case "sarif":
		err = writeSARIF(out, problems, o.Version)
	case "junit":
		err = writeJUnit(out, problems, checked)
	default:
		return fmt.Errorf("output format %q: want one of %s", format, strings.Join(Formats(), ", "))
	}
	if err != nil {
		return err
	}
	return out.Flush()
}

// Summary says in one line, without its newline, how much was checked and
// found: "3 instances checked: 2 errors, 1 warning".
func Summary(problems []Problem, checked []Subject) string {
	count := map[Severity]int{}
	for _, p := range tidy(problems) {
		count[p.Severity]++
	}
	var found []string
	for _, s := range []Severity{Error, Warning, Note} {
		if n := count[s]; n > 0 {
			found = append(found, plural(n, string(s)))
		}
	}
	if len(found) == 0 {
		found = []string{"no problems"}
	}
	return plural(len(checked), "instance") + " checked: " + strings.Join(found, ", ")
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// tidy returns a sorted copy without repetitions, every severity set. It is
// never nil.
func tidy(problems []Problem) []Problem {
	sorted := make([]Problem, len(problems))
	copy(sorted, problems)
	for i := range sorted {
		sorted[i].Severity = cmp.Or(sorted[i].Severity, Error)
	}
	slices.SortFunc(sorted, func(a, b Problem) int {
		return cmp.Or(
			cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Path, b.Path), cmp.Compare(a.Message, b.Message),
			cmp.Compare(a.Severity, b.Severity), cmp.Compare(a.Instance, b.Instance),
			cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.RuleAt, b.RuleAt), cmp.Compare(a.Hint, b.Hint))
	})
	return slices.Compact(sorted)
}
