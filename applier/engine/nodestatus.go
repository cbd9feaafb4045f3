package engine

import (
	"time"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// setPhase sets the phase and message of a node, and resets what belongs to the
// previous phase.
func (n *node) setPhase(phase v1alpha1.NodePhase, message string) {
	n.status.Phase, n.status.Message, n.touched = phase, message, true
	n.status.Reason, n.status.Shared, n.status.BlockedBy, n.status.NextAttempt = "", false, "", time.Time{}
	n.status.Attempts = n.progress.write.failures
	n.status.Op = n.progress.op
}

// wait sets the phase to Waiting.
func (n *node) wait(message string) { n.setPhase(v1alpha1.NodeWaiting, message) }

// fail sets the phase to Failed. A failure that isn't terminal shows the time of
// the next write.
func (n *node) fail(f *Failure) {
	n.setPhase(v1alpha1.NodeFailed, f.Error())
	n.status.Reason = f.Reason
	if !f.Terminal {
		n.status.NextAttempt = n.progress.write.retryAt
	}
}

// failBecause sets the phase to Failed because of an action other than the node's
// own write, such as a Survey. The prefix of the message names that action.
func (n *node) failBecause(s *retryState, prefix string) {
	n.fail(s.failure)
	n.status.Message, n.status.Attempts, n.status.Shared = prefix+s.failure.Error(), s.failures, prefix != ""
	if !s.failure.Terminal {
		n.status.NextAttempt = s.retryAt
	}
}

// block sets the phase to Blocked. The message names the node that n directly
// waits for, and the node at the end of the chain if it is another one.
func (n *node) block(by *node) {
	message, end := "waits for "+by.ID, by
	if by.status.Phase == v1alpha1.NodeBlocked {
		end = by.blockedOn
		message += ", which waits for " + end.ID
	}
	if end.status.Phase == v1alpha1.NodeFailed {
		message += ", which failed"
	}
	n.setPhase(v1alpha1.NodeBlocked, message)
	n.status.BlockedBy, n.blockedOn = by.ID, end
	n.progress.waitingSince = time.Time{}
}
