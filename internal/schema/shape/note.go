package shape

import "github.com/pequod-io/pequod/internal/problem"

// Unenforced returns the note that a demand of the CUE schema is not part of a
// shape or of the CRD that is written from it. At is the position of the demand
// in the schema, path the field of the instance, and what the subject of the
// sentence.
func Unenforced(at problem.Position, path, what string) problem.Problem {
	return problem.Problem{
		Severity: problem.Note, Rule: problem.RuleModule,
		Position: at, Path: path, Message: what + " is enforced when rendering, not by the CRD",
	}
}
