package kinds

import "github.com/pequod-io/pequod/internal/problem"

// newProblem returns a problem of severity Error.
func newProblem(path, message, hint string) *problem.Problem {
	return &problem.Problem{Path: path, Message: message, Hint: hint, Rule: problem.RuleSchema}
}
