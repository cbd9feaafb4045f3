package engine

import (
	"errors"
	"time"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/resolve"
)

// reconcileIfDue reconciles a node if anything changed on which its state depends:
// the observation of its object, the outcome of an action, a node that it depends
// on, or the time.
func (e *Engine) reconcileIfDue(n *node) {
	if !n.schedule.stale && (n.schedule.due.IsZero() || e.step.now.Before(n.schedule.due)) {
		if !n.schedule.due.IsZero() {
			e.wakeAt(n.schedule.due)
		}
		return
	}
	phase, message := n.status.Phase, n.status.Message
	// Collect separately what this node schedules and defers.
	wake, deferred := e.step.wake, e.step.writeDeferred
	e.step.wake, e.step.writeDeferred = time.Time{}, false
	e.reconcile(n)
	// A node whose write was deferred is reconciled again when the intent is
	// recorded.
	n.schedule = schedule{due: e.step.wake, stale: e.step.writeDeferred}
	e.step.wake, e.step.writeDeferred = wake, deferred || e.step.writeDeferred
	if !n.schedule.due.IsZero() {
		e.wakeAt(n.schedule.due)
	}
	if n.status.Phase != phase || n.status.Message != message {
		n.markDependentsStale()
	}
}

// reconcile sets the status of a node and requests its next action.
func (e *Engine) reconcile(n *node) {
	seen := e.cache.objects[n.key]
	e.verify(n, seen)
	if seen != nil && seen.unjudged && seen.err == nil && !n.progress.write.inFlight {
		if seen = e.judgeLater(n, seen); seen.unjudged {
			e.evaluateLater(n)
			return
		}
	}
	blocker := e.blocker(n)
	switch {
	case n.unscoped != nil:
		e.reconcileUnscoped(n, blocker)
	case n.progress.write.inFlight:
		// Until the outcome is known, a node that was ready stays ready, and one
		// that is tried again stays as it is.
		if n.status.Phase != v1alpha1.NodeReady && !e.triedAgain(n) {
			n.status.Phase, n.touched = v1alpha1.NodeApplying, true
		}
	case seen == nil && blocker != nil:
		n.block(blocker)
	case seen == nil:
		e.read(n)
	case seen.err != nil:
		var f *Failure
		if !errors.As(seen.err, &f) {
			f = &Failure{Reason: ReasonInvalid, Message: seen.err.Error(), Terminal: true}
		}
		if !f.lasts() && !e.backingOff(&n.progress.read) && e.opts.Damper.refuse(n.key, e.step.now) == nil {
			e.Forget(n.key)
			e.read(n)
			return
		}
		n.fail(f)
	case n.policy.external || e.mirrored(n, seen):
		e.reportExternal(n, seen)
		e.pollNode(n, seen)
	default:
		e.reconcileOwned(n, seen, blocker)
	}
}

// reconcileOwned is reconcile for a node whose object the graph owns, or is to
// create or adopt. Blocker is nil if all dependencies are ready. A blocked node
// that needs no write still reports its readiness: an outage of a dependency
// doesn't make it unready.
func (e *Engine) reconcileOwned(n *node, seen *observation, blocker *node) {
	e.resolveDesired(n)
	e.noteFinished(n, seen)
	var unresolved *resolve.WaitError
	switch err := n.desired.err; {
	case err != nil && blocker != nil:
		n.block(blocker)
		return
	case errors.As(err, &unresolved) && e.withoutSource(n, seen):
		return
	case errors.As(err, &unresolved):
		n.wait(unresolved.Message)
		e.checkTimeout(n)
		return
	case errors.Is(err, resolve.ErrLater):
		e.evaluateLater(n)
		return
	case err != nil:
		n.fail(referenceFailure(err))
		return
	}
	d := e.decide(n, seen)
	n.unrecorded = d.unrecorded
	e.reportDrift(n, seen, d)
	switch {
	case d.unchanged:
		e.recordUID(n, seen)
		e.reportUnchanged(n, seen)
	case blocker != nil && (seen.absent || e.opts.Mode != ModeStatus):
		n.block(blocker)
	case d.wait != "":
		n.wait(d.wait)
	case d.failure != nil:
		n.fail(d.failure)
	default:
		e.apply(n, d.apply)
	}
	e.pollNode(n, seen)
}

// mirrored reports whether the object of a node is only read because spec.adopt
// mirrors it.
func (e *Engine) mirrored(n *node, seen *observation) bool {
	return e.adoption.mirror && (n.policy.listed || !seen.absent && seen.selected && !seen.mine)
}

// blocker returns the first unready node that n depends on, nil if there is none.
// A plan continues after failures, so there a node blocks only until its result is
// final.
func (e *Engine) blocker(n *node) *node {
	for _, m := range n.needs {
		if m.status.Phase != v1alpha1.NodeReady && !(e.opts.Mode == ModePlan && m.settled()) {
			return m
		}
	}
	return nil
}

// reportDrift updates Status.Drifted. With [ReportDriftedFields] it first requests
// the changed fields, once per state of the object.
func (e *Engine) reportDrift(n *node, seen *observation, d decision) {
	switch {
	case d.drift == nil:
		n.touched = n.touched || n.status.Drifted
		n.status.Drifted = false
		// The drift that an apply would correct may be compared, too, see
		// reportDifference.
		if d.apply == nil || !d.apply.Drift {
			n.progress.compared = ""
		}
	case e.opts.Drift != ReportDriftedFields:
		n.touched = n.touched || !n.status.Drifted
		n.status.Drifted = true
	case n.progress.compared != seen.live:
		n.progress.compared = seen.live
		e.request(Action{Verb: Compare, Key: n.key, Version: n.version, Node: n.ID, Apply: d.drift})
	}
}

// finishCompare receives the drifted fields of a node, unless the drift is gone by
// now. If the lookup failed, the drift is reported without fields.
func (e *Engine) finishCompare(n *node, o Outcome) {
	if n != nil && n.progress.compared != "" {
		// Drift that is going to be corrected is a reason to be pending, and not kept.
		n.status.Drifted, n.status.Taken, n.touched = e.opts.Drift != CorrectDrift, o.Taken, true
	}
}

// recordUID completes the entry of an object that needs no write and whose UID
// isn't recorded. This happens if the answer to its creation was lost and it isn't
// applied again, as with mode Create.
func (e *Engine) recordUID(n *node, seen *observation) {
	if entry := e.ledger.entries[n.key]; entry.UID != seen.uid && e.owns(n.key, seen) {
		entry.UID, entry.Desired = seen.uid, n.desired.digest
		e.ledger.entries[n.key] = entry
	}
}
