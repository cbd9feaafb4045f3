package report

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/pequod-io/pequod/internal/jsonvalue"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source"
)

// The types are a code quality report as GitLab reads it:
// https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format
type (
	gitlabProblem struct {
		Description string         `json:"description"`
		CheckName   string         `json:"check_name"`
		Fingerprint string         `json:"fingerprint"`
		Severity    string         `json:"severity"`
		Location    gitlabLocation `json:"location"`
	}
	gitlabLocation struct {
		Path  string      `json:"path"`
		Lines gitlabLines `json:"lines"`
	}
	gitlabLines struct {
		Begin int `json:"begin"`
	}
)

// gitlabSeverity are the severities of GitLab. It also has critical and blocker, which
// tell no more of a file that is refused.
func gitlabSeverity(s problem.Severity) string {
	switch s {
	case problem.Warning:
		return "minor"
	case problem.Note:
		return "info"
	}
	return "major"
}

// writeGitLab prints a code quality report. GitLab compares the fingerprints of two
// branches to find the new problems, so they have no line: text that moves is not a
// new problem. GitLab shows one problem of those with the same fingerprint; equal
// problems of a file are therefore counted. A problem without a file or line is shown
// at line 1, because GitLab refuses a whole report with an incomplete location.
func writeGitLab(w *bufio.Writer, entries []entry) error {
	all := make([]gitlabProblem, len(entries))
	times := map[string]int{}
	for i, e := range entries {
		description := sentence(e)
		if e.Instance != "" {
			description = source.Escape(e.Instance, "") + ": " + description
		}
		parts := []string{e.Position.File, e.Instance, e.Path, e.Rule, e.Severity.String(), e.Message}
		same := strings.Join(parts, "\x00")
		sum := sha256.Sum256([]byte(same + "\x00" + strconv.Itoa(times[same])))
		times[same]++
		all[i] = gitlabProblem{
			Description: cmp.Or(description, unnamedRule), CheckName: source.Escape(cmp.Or(e.Rule, unnamedRule), ""),
			Fingerprint: hex.EncodeToString(sum[:]), Severity: gitlabSeverity(e.Severity),
			Location: gitlabLocation{
				Path:  source.Escape(cmp.Or(e.Position.File, "."), ""),
				Lines: gitlabLines{Begin: max(e.Position.Line, 1)},
			},
		}
	}
	return jsonvalue.Write(w, all)
}
