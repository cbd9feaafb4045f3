package impact

import (
	"fmt"
	"io"
	"strings"

	"github.com/pequod-io/pequod/applier/objectdiff"
	"github.com/pequod-io/pequod/cli/report"
	"github.com/pequod-io/pequod/cli/style"
	"github.com/pequod-io/pequod/internal/jsonvalue"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source"
)

// Write prints the report in a format: text, json or markdown. Only markdown is truncated, to
// maxSize characters unless that is 0.
func (m *Report) Write(w io.Writer, format string, maxSize int) error {
	switch format {
	case "json":
		return m.writeJSON(w)
	case "markdown":
		_, err := io.WriteString(w, objectdiff.Fit(maxSize, m.markdown))
		return err
	}
	return m.writeText(w, style.Colored(w))
}

// summary returns the counts of all instances in one line. Counts of zero are
// left out, except the first:
//
//	3 of 40 instances would change, 1 no longer valid
func (m *Report) summary() string {
	parts := []string{fmt.Sprintf("%d of %s", m.Changed, source.Count(m.instances-m.skipped, "instance"))}
	parts[0] += " would change"
	if n := m.broken.instances; n > 0 {
		parts = append(parts, fmt.Sprintf("%d no longer valid", n))
	}
	if n := m.invalid.instances; n > 0 {
		parts = append(parts, fmt.Sprintf("%d not valid with either version", n))
	}
	if n := len(m.fixed); n > 0 {
		parts = append(parts, fmt.Sprintf("%d newly valid", n))
	}
	if n := m.skipped; n > 0 {
		parts = append(parts, fmt.Sprintf("%d of other kinds skipped", n))
	}
	return strings.Join(parts, ", ")
}

// section lists instances that could not be compared, because one side is not valid.
type section struct {
	title string
	// lines are problems, or for fixed instances POSITION: NAME.
	lines []string
}

// sections returns the sections that are not empty, the broken instances first.
func (m *Report) sections() []section {
	var all []section
	for _, s := range []struct {
		title string
		failures
	}{{"No longer valid", m.broken}, {"Not valid with either version", m.invalid}} {
		if s.instances == 0 {
			continue
		}
		var b strings.Builder
		_ = report.Write(&b, "text", alike(s.Problems), nil, report.Options{}) // writes to memory don't fail
		all = append(all, section{s.title, strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")})
	}
	if len(m.fixed) > 0 {
		all = append(all, section{"Newly valid", m.fixed})
	}
	return all
}

// WriteProblems prints the instances that aren't valid with one of the platforms, as text.
func (m *Report) WriteProblems(w io.Writer) error {
	for _, s := range m.sections() {
		if _, err := fmt.Fprintf(w, "%s:\n  %s\n\n", s.title, strings.Join(s.lines, "\n  ")); err != nil {
			return err
		}
	}
	return nil
}

// alike merges the problems of instances that differ only in the instance into the
// first of them, whose hint counts the others. A stricter rule of a module would
// otherwise fill pages with one line.
//
// Problems of the module itself, which have an InstanceAt, are merged by package
// report. JSON has every problem.
func alike(problems problem.List) problem.List {
	var merged problem.List
	times := map[problem.Problem]int{}
	keyOf := func(p problem.Problem) problem.Problem {
		if p.InstanceAt.File == "" {
			p.Position, p.Instance = problem.Position{}, ""
		}
		return p
	}
	for _, p := range problems {
		if times[keyOf(p)]++; times[keyOf(p)] == 1 || p.InstanceAt.File != "" {
			merged = append(merged, p)
		}
	}
	for i, p := range merged {
		if n := times[keyOf(p)] - 1; n > 0 && p.InstanceAt.File == "" {
			also := "also in " + source.Count(n, "other instance")
			merged[i].Hint = strings.TrimPrefix(p.Hint+"; "+also, "; ")
		}
	}
	return merged
}

// writeText prints the groups of changes, the sections and the summary. The
// summary comes last, where a terminal shows it.
func (m *Report) writeText(w io.Writer, color bool) error {
	if err := m.WriteText(w, style.Painter{Color: color}.Sign); err != nil {
		return err
	}
	if err := m.WriteProblems(w); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%s\n%s\n", m.summary(), m.Plan)
	return err
}

// maxProblems is the number of lines of a section in markdown that must be
// truncated. A stronger cut may leave fewer.
const maxProblems = 20

// markdown returns the report as markdown, truncated according to cut.
// objectdiff.Fit calls it with different cuts to find the largest text that fits.
// The summary and the problems come first, because Fit cuts off the end if
// nothing else helps.
func (m *Report) markdown(cut objectdiff.Cut) string {
	var b strings.Builder
	fmt.Fprintf(&b, "**%s**\n\n%s\n", m.summary(), m.Plan)
	for _, s := range m.sections() {
		lines := s.lines
		if limit := min(maxProblems, cut.Objects); cut.Cuts() && len(lines) > limit {
			lines = append(lines[:limit:limit], fmt.Sprintf("… %d more", len(lines)-limit))
		}
		fmt.Fprintf(&b, "\n### %s\n\n%s", s.title, objectdiff.Fence(lines))
	}
	m.Markdown(&b, cut)
	return b.String()
}

// jsonReport is the JSON form of a report. Fields are only ever added to it.
type jsonReport struct {
	// Instances is the number of all instances in the input. The next three count
	// those that change, those that don't, and those without a platform.
	Instances int `json:"instances"`
	Changed   int `json:"changed"`
	Unchanged int `json:"unchanged"`
	Passed    int `json:"passedOver"`
	// Plan has the totals of the changes, and Groups the changes themselves, each
	// with the instances that share it.
	Plan   objectdiff.Plan          `json:"plan"`
	Groups []objectdiff.GroupReport `json:"groups"`
	// Broken and Invalid are the problems of instances that are valid only with
	// the old platforms, or with neither side. Fixed are instances that are valid
	// only with the new ones.
	Broken  []report.JSONProblem `json:"noLongerValid"`
	Invalid []report.JSONProblem `json:"notValid"`
	Fixed   []string             `json:"validOnlyNow"`
}

// Problems returns the JSON form of the problems of instances that are valid only with the
// old platforms.
func (m *Report) Problems() []report.JSONProblem { return report.JSON(m.broken.Problems) }

// writeJSON prints the report as one indented JSON object; see jsonReport.
func (m *Report) writeJSON(w io.Writer) error {
	return jsonvalue.Write(w, jsonReport{
		Instances: m.instances, Changed: m.Changed, Unchanged: m.unchanged, Passed: m.skipped, Plan: m.Plan,
		Groups: m.Report(), Broken: report.JSON(m.broken.Problems), Invalid: report.JSON(m.invalid.Problems), Fixed: append([]string{}, m.fixed...),
	})
}
