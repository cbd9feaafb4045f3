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
// path is in a node.
func (f violation) problem(in *Instance) problem.Problem {
	p := graph.ViolationProblem(f.Violation)
	p.Related, p.Position = f.pos, in.Pos()
	if f.Node == "" {
		p.Position = in.PosOf(f.Path)
	}
	return p
}
