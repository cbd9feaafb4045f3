package controller

import (
	"fmt"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/source"
)

// violations reports the findings of policies in the graph. If one of them is an
// error, it returns a message: the graph must not be executed.
//
// The findings of a generation are counted once, and Warnings and Infos become one
// Event each. [reporter.stalled] reports the errors.
func (r *reporter) violations() (message string) {
	found := map[v1alpha1.Severity][]string{}
	for _, v := range r.graph.Spec.Graph.Violations {
		severity := v.Severity
		if severity == "" {
			severity = v1alpha1.SeverityError
		}
		text := graph.ViolationProblem(v).Message
		if at := graph.NodePath(v.Node, v.Path); at != "" {
			text = at + ": " + text
		}
		found[severity] = append(found[severity], text)
	}
	if r.graph.Status.ObservedGeneration != r.graph.Generation {
		for severity, texts := range found {
			r.metrics.PolicyViolations(string(severity), len(texts))
		}
		if texts := found[v1alpha1.SeverityWarning]; len(texts) > 0 {
			r.emitWarning("PolicyWarning", "Check", nil, andMore(texts))
		}
		if texts := found[v1alpha1.SeverityInfo]; len(texts) > 0 {
			r.emitNormal("PolicyNotice", "Check", nil, andMore(texts))
		}
	}
	if texts := found[v1alpha1.SeverityError]; len(texts) > 0 {
		return andMore(texts)
	}
	return ""
}

// andMore returns the first text and the number of the others.
func andMore(texts []string) string {
	if len(texts) == 1 {
		return texts[0]
	}
	return fmt.Sprintf("%s (and %s)", texts[0], source.Count(len(texts)-1, "other violation"))
}
