// Package report prints problems: as lines for people, or in the formats that
// continuous integration systems read.
//
// [Write] is the entry point. It sorts the problems and drops duplicates, so the
// output does not depend on the order in which problems were found. The formats
// are
//
//	text    app.yaml:7:9: spec.port: 70000 is not <=65535 (webservice/schema.cue:8:14)
//	json    an array of problems, see [JSONProblem]
//	github  workflow commands, which GitHub shows in the diff of a pull request
//	sarif   SARIF 2.1.0 with one run, for code scanning
//	gitlab  a code quality report, which GitLab shows in a merge request
//	junit   JUnit XML with one test case per checked instance
//
// Each format has a file of its own. All of them print entries, which merge.go
// makes of the problems: a problem of a module that affects several instances is
// found once per instance, and printed once.
//
// The package finds no problems and picks no exit code. It escapes all text from
// files and modules, so that no problem can break a line or send commands to a
// terminal.
package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source"
)

// Subject is an instance that was checked, with or without problems. The junit
// format has a test case for each of them, so that a passed check is visible too.
type Subject struct {
	// File is the file that has the instance. Instance is its kind, namespace
	// and name, as in problem.Problem.Instance.
	File, Instance string
}

// Options configures Write.
type Options struct {
	// Color colors the text format.
	Color bool
	// Version is the version of pequod that the sarif format names.
	Version string
	// Path converts names of files for all formats but text, which shows them as the
	// user wrote them. It may be nil.
	Path func(file string) string
}

// Formats lists the formats of Write. The first is the default. The command line
// takes the values of its flag from here.
func Formats() []string { return []string{"text", "json", "github", "gitlab", "sarif", "junit"} }

// Write prints problems in one of [Formats]. Only the junit format uses checked.
// Write returns an error if the format is unknown or w fails. Neither problems
// nor checked is changed.
func Write(w io.Writer, format string, problems problem.List, checked []Subject, o Options) error {
	if o.Path != nil && format != "text" {
		problems, checked = converted(problems, checked, o.Path)
	}
	entries := sorted(merged(problems))
	out := bufio.NewWriter(w)
	var err error
	switch format {
	case "text":
		err = writeText(out, entries, o.Color)
	case "json":
		err = writeJSON(out, entries)
	case "github":
		err = writeGitHub(out, entries)
	case "gitlab":
		err = writeGitLab(out, entries)
	case "sarif":
		err = writeSARIF(out, entries, o.Version)
	case "junit":
		err = writeJUnit(out, entries, checked)
	default:
		return fmt.Errorf("output format %q: want one of %s", format, strings.Join(Formats(), ", "))
	}
	if err != nil {
		return err
	}
	return out.Flush()
}

// converted returns copies of problems and checked with converted names of files.
func converted(problems problem.List, checked []Subject, path func(string) string) (problem.List, []Subject) {
	problems, checked = slices.Clone(problems), slices.Clone(checked)
	for i := range problems {
		p := &problems[i]
		p.Position.File = path(p.Position.File)
		p.Related.File = path(p.Related.File)
		p.InstanceAt.File = path(p.InstanceAt.File)
	}
	for i := range checked {
		checked[i].File = path(checked[i].File)
	}
	return problems, checked
}

// Summary returns one line, without a newline, that counts the checked instances
// and the problems: "3 instances checked: 2 errors, 1 warning". It counts entries
// as Write prints them: a problem of a module that affects several instances
// counts once.
func Summary(problems problem.List, checked []Subject) string {
	count := map[problem.Severity]int{}
	for _, e := range sorted(merged(problems)) {
		count[e.Severity]++
	}
	var found []string
	for _, s := range []problem.Severity{problem.Error, problem.Warning, problem.Note} {
		if n := count[s]; n > 0 {
			found = append(found, source.Count(n, s.String()))
		}
	}
	if len(found) == 0 {
		found = []string{"no problems"}
	}
	return source.Count(len(checked), "instance") + " checked: " + strings.Join(found, ", ")
}
