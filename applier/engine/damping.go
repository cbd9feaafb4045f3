package engine

import (
	"fmt"
	"time"
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
	}
	n.wait(cause + "; the next write is at " + next.Format(time.TimeOnly))
	e.wakeAt(next)
	return true
}
