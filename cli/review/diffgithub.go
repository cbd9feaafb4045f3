package review

import (
	"fmt"
	"io"

	"github.com/pequod-io/pequod/applier/objectdiff"
	"github.com/pequod-io/pequod/cli/files"
	"github.com/pequod-io/pequod/cli/report"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/review"
)

// writeGitHub prints a report as workflow commands of GitHub: an error for what an apply would
// refuse or what has no answer, a warning for each danger, and a notice for each group of changes.
func writeGitHub(w io.Writer, r *review.Report) error {
	var ps problem.List
	for _, u := range r.Unknown {
		ps = append(ps, u.Problems...)
	}
	for _, d := range r.Dangers {
		p := problem.Problem{Severity: problem.Warning, Rule: d.Rule, Message: d.Object.String() + ": "}
		if d.Rule == objectdiff.RuleRefused {
			p.Severity = problem.Error
		}
		if d.Path != "" {
			p.Message += d.Path + " "
		}
		p.Message += d.Message
		if d.Others > 0 {
			p.Message += fmt.Sprintf(" (and %d more)", d.Others)
		}
		if d.Instance >= 0 {
			p.Position = r.Instances[d.Instance].At
		}
		ps = append(ps, p)
	}
	for _, g := range r.Groups {
		ps = append(ps, problem.Problem{Severity: problem.Note, Rule: "diff", Message: g.Title, Position: r.Instances[g.Instances[0]].At})
	}
	return report.Write(w, "github", ps, nil, report.Options{Path: files.RepositoryPaths()})
}
