package render

import (
	"github.com/pequod-io/pequod/internal/problem"
)

// Policy is a module with #Policy, which sees every input and every rendered
// node. Only its violations are read.
//
// A policy has this form; input and nodes are optional:
//
//	#Policy: {
//		input: _
//		nodes: [string]: resource: _
//		violations: [...{message: string, path?: string, node?: string}]
//	}
type Policy struct {
	Module *Module
}

// NewPolicy checks that a module is a policy. Its errors are a [problem.List].
func NewPolicy(m *Module) (*Policy, error) {
	b := m.acquire()
	defer m.giveBack(b)
	if !b.has("Policy") {
		return nil, problem.List{m.missingDefinition("#Policy", b.definitions())}
	}
	return &Policy{Module: m}, nil
}
