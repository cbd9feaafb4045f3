package review

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/objectdiff"
	"github.com/pequod-io/pequod/cli/report"
	"github.com/pequod-io/pequod/internal/source"
)

// writeImpact prints what a change of modules does to instances.
func (o *diffOptions) writeImpact(w io.Writer, m *impact) error {
	switch o.output {
	case "json":
		return m.writeJSON(w)
	case "markdown":
		_, err := io.WriteString(w, objectdiff.Fit(o.maxSize, m.markdown))
		return err
	}
	return m.writeText(w, command.Colored(w))
}

// summary is one line on all instances.
func (m *impact) summary() string {
	parts := []string{fmt.Sprintf("%d of %s", m.Changed(), source.Count(m.instances-m.passed, "instance"))}
	parts[0] += " would change"
	if n := m.broken.instances; n > 0 {
		parts = append(parts, fmt.Sprintf("%d no longer valid", n))
	}
	if n := m.faulty.instances; n > 0 {
		parts = append(parts, fmt.Sprintf("%d not valid either way", n))
	}
	if n := len(m.mended); n > 0 {
		parts = append(parts, fmt.Sprintf("%d valid only now", n))
	}
	if n := m.passed; n > 0 {
		parts = append(parts, fmt.Sprintf("%d of other kinds passed over", n))
	}
	return strings.Join(parts, ", ")
}

// section is a list of instances that there is no comparison of.
type section struct {
	title string
	lines []string
}

func (m *impact) sections() ([]section, error) {
	var all []section
	for _, s := range []struct {
		title string
		failures
	}{{"No longer valid", m.broken}, {"Not valid either way", m.faulty}} {
		if s.instances == 0 {
			continue
		}
		var b strings.Builder
		if err := report.Write(&b, "text", s.Problems, nil, report.Options{}); err != nil {
			return nil, err
		}
		all = append(all, section{s.title, strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")})
	}
	if len(m.mended) > 0 {
		all = append(all, section{"Valid only now", m.mended})
	}
	return all, nil
}

func (m *impact) writeText(w io.Writer, color bool) error {
	if err := m.WriteText(w, color); err != nil {
		return err
	}
	sections, err := m.sections()
	if err != nil {
		return err
	}
	for _, s := range sections {
		if _, err := fmt.Fprintf(w, "%s:\n  %s\n\n", s.title, strings.Join(s.lines, "\n  ")); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(w, "%s\n%s\n", m.summary(), m.Plan)
	return err
}

// maxProblems is how many lines of a section a comment has where it must be cut.
const maxProblems = 20

func (m *impact) markdown(cut objectdiff.Cut) string {
	var b strings.Builder
	fmt.Fprintf(&b, "**%s**\n\n%s\n", m.summary(), m.Plan)
	sections, err := m.sections()
	if err != nil { // writing to memory doesn't fail
		return err.Error()
	}
	for _, s := range sections {
		lines := s.lines
		if limit := min(maxProblems, cut.Objects); cut.Cuts() && len(lines) > limit {
			lines = append(lines[:limit:limit], fmt.Sprintf("… %d more", len(lines)-limit))
		}
		fmt.Fprintf(&b, "\n### %s\n\n%s", s.title, objectdiff.Fence(lines))
	}
	m.Markdown(&b, cut)
	return b.String()
}

// impactReport is the JSON form of an impact. Its shape only grows.
type impactReport struct {
	Instances int                      `json:"instances"`
	Changed   int                      `json:"changed"`
	Unchanged int                      `json:"unchanged"`
	Passed    int                      `json:"passedOver"`
	Plan      objectdiff.Plan          `json:"plan"`
	Groups    []objectdiff.GroupReport `json:"groups"`
	// Broken are the problems of instances that are no longer valid, Faulty of
	// those that are valid with neither side, and Mended those valid only now.
	Broken []report.JSONProblem `json:"noLongerValid"`
	Faulty []report.JSONProblem `json:"notValid"`
	Mended []string             `json:"validOnlyNow"`
}

func (m *impact) writeJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(impactReport{
		Instances: m.instances, Changed: m.Changed(), Unchanged: m.same, Passed: m.passed, Plan: m.Plan,
		Groups: m.Report(), Broken: report.JSON(m.broken.Problems), Faulty: report.JSON(m.faulty.Problems), Mended: append([]string{}, m.mended...),
	})
}
