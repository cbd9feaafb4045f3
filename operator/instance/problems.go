package instance

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pequod-io/pequod/internal/problem"
)

// maxProblems is the number of problems in a message.
const maxProblems = 5

// refusalOf returns the refusal of an instance with problems, at least one of which is an
// error.
func refusalOf(problems problem.List) *refusal {
	var failed problem.List
	r := &refusal{reason: reasonRenderFailed}
	for _, p := range problems {
		if p.Rule == problem.RulePolicy {
			r.violations[p.Severity]++
		}
		if p.Severity == problem.Error {
			failed = append(failed, p)
		}
	}
	hasRule := func(rule string) bool {
		return slices.ContainsFunc(failed, func(p problem.Problem) bool { return p.Rule == rule })
	}
	switch {
	case hasRule(problem.RuleUnchecked):
		r.reason = reasonPolicyUnchecked
	case hasRule(problem.RulePolicy):
		r.reason = reasonPolicyViolation
	}
	r.message = messageOf(failed)
	return r
}

// messageOf returns problems in one line, with the words of pequod validate. A position in
// the instance is left out, because a cluster has no file of it; the path names the field.
func messageOf(problems problem.List) string {
	var texts []string
	for i, p := range problems {
		if i == maxProblems {
			texts = append(texts, fmt.Sprintf("and %d more", len(problems)-maxProblems))
			break
		}
		// InstanceAt is only set if Position is in the module.
		if p.InstanceAt.File == "" {
			p.Position = problem.Position{}
		}
		p.InstanceAt = problem.Position{}
		texts = append(texts, p.String())
	}
	return strings.Join(texts, "; ")
}
