package engine

import (
	"slices"
	"time"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/inventory"
)

// Operation is the effect of a run on an object.
type Operation string

// The operations, in the words of kubectl.
const (
	Created    Operation = "created"
	Configured Operation = "configured"
	Unchanged  Operation = "unchanged"
	Adopted    Operation = "adopted"
	Recreated  Operation = "recreated"
	// Corrected means that drift was reverted.
	Corrected Operation = "corrected"
	// Observed objects are only read.
	Observed Operation = "observed"
	Deleted  Operation = "deleted"
	Released Operation = "released"
)

// Status is the state of a node, or of an object that left the graph.
type Status struct {
	// ID is the id of the node, "" for an object that left the graph.
	ID      string
	Key     inventory.Key
	Version string
	Wave    int
	Phase   v1alpha1.NodePhase
	// Reason is one of the Reason constants. It is "" unless the phase is Failed or
	// Degraded, or an object that left the graph stays for that reason.
	Reason string
	// Message describes what the node waits for, or why it failed.
	Message string
	// Shared is set if the failure is not the node's own, but of a request that all
	// nodes depend on, such as a Record.
	Shared bool
	// BlockedBy is the id of the node that blocks this one.
	BlockedBy string
	// Op is the effect on the object so far, "" if there is none.
	Op Operation
	// Drifted is set if others changed the object and the changes are kept.
	Drifted bool
	// Taken are the fields that the last apply took from other managers, or, of a
	// drifted object, the fields that others changed.
	Taken     []Conflict
	AppliedAt time.Time
	ReadyAt   time.Time
	// Attempts counts the failures since the last success.
	Attempts int
	// NextAttempt is the time of the next retry, zero if there is none.
	NextAttempt time.Time
}

// equal reports whether s and t look the same to a user.
func (s *Status) equal(t *Status) bool {
	return s.Phase == t.Phase && s.Message == t.Message && s.Op == t.Op && s.Reason == t.Reason &&
		s.BlockedBy == t.BlockedBy && s.Drifted == t.Drifted && s.Attempts == t.Attempts && s.NextAttempt.Equal(t.NextAttempt) &&
		s.AppliedAt.Equal(t.AppliedAt) && s.ReadyAt.Equal(t.ReadyAt) && slices.Equal(s.Taken, t.Taken)
}

// failedForGood reports whether s is a failure without a retry.
func (s *Status) failedForGood() bool {
	return s.Phase == v1alpha1.NodeFailed && s.NextAttempt.IsZero()
}
