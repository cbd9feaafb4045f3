package engine

import (
	"slices"
	"time"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/inventory"
)

// Operation says what an apply did to an object.
type Operation string

// The operations, in the words of kubectl.
const (
	Created    Operation = "created"
	Configured Operation = "configured"
	Unchanged  Operation = "unchanged"
	Adopted    Operation = "adopted"
	Recreated  Operation = "recreated"
	Corrected  Operation = "corrected"
	Observed   Operation = "observed"
	Deleted    Operation = "deleted"
	Released   Operation = "released"
)

// Status is the state of one node, or of an object that left the graph.
type Status struct {
	// ID is the node's, "" for an object that left the graph.
	ID      string
	Key     inventory.Key
	Version string
	Wave    int
	Phase   v1alpha1.NodePhase
	// Reason is one of the reasons of failures, "" without a failure.
	Reason string
	// Message says what is waited for, and why.
	Message string
	// BlockedBy is the node that this one waits for.
	BlockedBy string
	// Op is what was done to the object, "" if nothing was yet.
	Op Operation
	// Drifted says that others changed the object, and that it is left so.
	Drifted bool
	// Taken are the fields that the last apply took from other managers.
	Taken     []Conflict
	AppliedAt time.Time
	ReadyAt   time.Time
	// Attempts counts the tries that failed since the last one that didn't;
	// NextAttempt is the time of the next, zero if there is none.
	Attempts    int
	NextAttempt time.Time
}

// equal says whether nothing changed that is shown.
func (s *Status) equal(t *Status) bool {
	return s.Phase == t.Phase && s.Message == t.Message && s.Op == t.Op && s.Reason == t.Reason &&
		s.BlockedBy == t.BlockedBy && s.Drifted == t.Drifted && s.Attempts == t.Attempts && s.NextAttempt.Equal(t.NextAttempt) &&
		s.AppliedAt.Equal(t.AppliedAt) && s.ReadyAt.Equal(t.ReadyAt) && slices.Equal(s.Taken, t.Taken)
}

// hopeless says that something failed, and isn't tried again.
func (s *Status) hopeless() bool {
	return s.Phase == v1alpha1.NodeFailed && s.NextAttempt.IsZero()
}

// Statuses are the states of all nodes, in the order of the graph, and then
// those of the objects that left it, in the order of their removal.
func (e *Engine) Statuses() []Status {
	all := make([]Status, 0, len(e.nodes))
	for _, n := range e.nodes {
		all = append(all, n.status)
	}
	for _, level := range e.leaving {
		for _, l := range level {
			if e.pruning || l.status.Phase != v1alpha1.NodePending {
				all = append(all, l.status)
			}
		}
	}
	return all
}

// Unfinished says that an engine that is ReadOnly sees the work of a run that
// hasn't come to its end.
func (e *Engine) Unfinished() bool {
	return slices.ContainsFunc(e.nodes, func(n *node) bool { return n.unrecorded })
}

// Dependencies gives the ids of the nodes that each node waits for.
func (e *Engine) Dependencies() map[string][]string {
	needs := make(map[string][]string, len(e.nodes))
	for _, n := range e.nodes {
		for _, m := range n.needs {
			needs[n.ID] = append(needs[n.ID], m.ID)
		}
	}
	return needs
}

// Outputs evaluates the outputs of the graph over what is known of its objects.
// Outputs that can't be told yet are in the errors.
func (e *Engine) Outputs() (map[string]any, map[string]error) {
	if e.resolver == nil {
		return nil, nil
	}
	return e.resolver.Outputs(e.live)
}
