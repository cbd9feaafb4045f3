package engine

import (
	"fmt"
	"time"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// refused fails a node whose write failed for good in an earlier engine, if too many
// were tried again since. It reports whether it did.
func (e *Engine) refused(n *node) bool {
	f := e.opts.Damper.refuse(n.key, e.step.now)
	if n.progress.refused = f != nil; n.progress.refused {
		n.fail(f)
	}
	return n.progress.refused
}

// onTrial fails a node whose writes keep failing until its turn comes to try again. It
// reports whether it did.
func (e *Engine) onTrial(n *node) bool {
	f, next := e.opts.Damper.trial(n.key, e.step.now)
	if f == nil {
		return false
	}
	n.progress.refused = true
	n.fail(f)
	n.status.NextAttempt = next
	e.wakeAt(next)
	return true
}

// dampedRemoval is refused and onTrial for an object that left the graph.
func (e *Engine) dampedRemoval(r *removal) bool {
	if f := e.opts.Damper.refuse(r.entry.Key, e.step.now); f != nil {
		r.refuse(f, time.Time{})
		return true
	}
	f, next := e.opts.Damper.trial(r.entry.Key, e.step.now)
	if f == nil {
		return false
	}
	r.refuse(f, next)
	e.wakeAt(next)
	return true
}

// triedAgain reports whether the write of a node is a further attempt: after a failure,
// or while the node is damped. The status of the node doesn't show these writes, because
// it would change twice with each of them.
func (e *Engine) triedAgain(n *node) bool {
	return n.status.Phase == v1alpha1.NodeFailed && n.progress.write.failure != nil ||
		n.status.Phase == v1alpha1.NodeWaiting && e.opts.Damper.nearly(n.key, e.step.now)
}

// retryRefused makes the next step try the nodes that were refused.
func (e *Engine) retryRefused() {
	for _, n := range e.nodes.all {
		if !n.progress.refused {
			continue
		}
		n.progress.refused, n.schedule.stale = false, true
		if seen := e.cache.objects[n.key]; seen != nil && seen.err != nil {
			e.Forget(n.key)
		}
	}
}

// damped makes a node wait if it was written too often, and reports whether it did.
func (e *Engine) damped(n *node) bool {
	next := e.opts.Damper.next(n.key, e.step.now)
	if next.IsZero() {
		return false
	}
	cause := e.opts.Damper.contested(n.key)
	if cause == "" {
		cause = fmt.Sprintf("was written %d times although the graph didn't change", maxWrites)
		if metadata, _ := n.desired.object["metadata"].(map[string]any); metadata["ownerReferences"] != nil {
			cause += " (the garbage collector deletes it if its owner doesn't exist)"
		}
	}
	n.wait(cause + "; the next write is at " + next.Format(time.TimeOnly))
	e.wakeAt(next)
	return true
}
