package shape

import "github.com/pequod-io/pequod/internal/problem"

// Unenforced is the note that something is enforced only when an instance is rendered.
func Unenforced(at problem.Position, path, what string) problem.Problem {
	return problem.Problem{
		Severity: problem.Note, Rule: problem.RuleModule,
		Position: at, Path: path, Message: what + " is enforced when rendering, not by the CRD",
	}
}
