package render

import (
	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
)

// violation is a violation with the position in the module that produced it.
type violation struct {
	v1alpha1.Violation
	pos problem.Position
}

// violationFields are the fields that a violation may have.
var violationFields = []string{"path", "node", "message", "severity"}

// problem returns the problem of a violation. Its position is the field of the
// instance that the violation's path names, or the start of the instance if the
// path is in a node. The severities Error, Warning and Info are those of
// problems; Info is a Note.
func (f violation) problem(in *Instance) problem.Problem {
	p := problem.Problem{Path: f.Path, Message: f.Message, Rule: problem.RulePolicy, Related: f.pos}
	switch f.Severity {
	case v1alpha1.SeverityWarning:
		p.Severity = problem.Warning
	case v1alpha1.SeverityInfo:
		p.Severity = problem.Note
	case v1alpha1.SeverityError:
	}
	if f.Node != "" {
		p.Path = graph.NodePath(f.Node, f.Path)
		p.Position = in.Pos()
		return p
	}
	p.Position = in.PosOf(f.Path)
	return p
}
