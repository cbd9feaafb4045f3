package impact

import (
	"io"

	"github.com/pequod-io/pequod/cli/report"
	"github.com/pequod-io/pequod/cli/style"
	"github.com/pequod-io/pequod/internal/jsonvalue"
	"github.com/pequod-io/pequod/review"
	"github.com/pequod-io/pequod/review/html"
	"github.com/pequod-io/pequod/review/markdown"
	"github.com/pequod-io/pequod/review/text"
)

// Write prints the report in a format: text, json, html or markdown. Only markdown is
// truncated, to maxSize characters unless that is 0.
func (m *Report) Write(w io.Writer, format string, maxSize int) error {
	switch format {
	case "json":
		return jsonvalue.Write(w, m.json())
	case "html":
		return html.Write(w, m.Report, html.Options{})
	case "markdown":
		return markdown.Write(w, m.Report, maxSize)
	}
	return text.Write(w, m.Report, style.Painter{Color: style.Colored(w)}.Sign)
}

// jsonReport is the JSON form of a report: that of a review, and the fields of this package.
// Fields are only ever added to it.
type jsonReport struct {
	review.JSON
	// Instances is the number of all instances in the input. The next three count
	// those that change, those that don't, and those without a platform.
	Instances int `json:"instances"`
	Changed   int `json:"changed"`
	Unchanged int `json:"unchanged"`
	Passed    int `json:"passedOver"`
	// Broken and Invalid are the problems of instances that are valid only with
	// the old platforms, or with neither side. Fixed are instances that are valid
	// only with the new ones.
	Broken  []report.JSONProblem `json:"noLongerValid"`
	Invalid []report.JSONProblem `json:"notValid"`
	Fixed   []string             `json:"validOnlyNow"`
}

// json returns the JSON form of the report.
func (m *Report) json() jsonReport {
	return jsonReport{
		JSON: m.JSON(), Instances: m.instances, Changed: m.Counts.Changed, Unchanged: m.Counts.Unchanged, Passed: m.skipped,
		Broken: report.JSON(m.broken.problems), Invalid: report.JSON(m.invalid.problems), Fixed: append([]string{}, m.fixed...),
	}
}

// Problems returns the JSON form of the problems of instances that are valid only with the
// old platforms.
func (m *Report) Problems() []report.JSONProblem { return report.JSON(m.broken.problems) }
