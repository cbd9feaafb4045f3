package engine

import (
	"errors"
	"fmt"
	"time"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/fields"
	"github.com/pequod-io/pequod/applier/readiness"
)

// apply requests the write of an object, unless an earlier attempt failed and
// must not be repeated yet.
func (e *Engine) apply(n *node, a *ApplyRequest) {
	if e.opts.Mode == ModeStatus {
		e.reportDifference(n, a)
		return
	}
	p := &n.progress
	if failure := p.write.failure; failure != nil {
		switch {
		case p.digest != n.desired.digest || failure.Terminal && p.uid != a.UID:
			// The failure was about another desired state or another object.
			p.write.succeed()
		case failure.Immutable && n.policy.recreate && a.UID != "":
			e.recreate(n, a)
			return
		case failure.lasts() || e.backingOff(&p.write):
			n.fail(failure)
			return
		}
	}
	if a.Drift && !e.mayCorrect(n) {
		n.wait(fmt.Sprintf("was changed by others %d times; the next correction is at %s",
			p.corrections.count, p.corrections.next.Format(time.TimeOnly)))
		return
	}
	if e.damped(n) || e.ledger.intentSaved && (e.refused(n) || e.onTrial(n)) {
		return
	}
	again := e.triedAgain(n)
	if !again {
		n.setPhase(v1alpha1.NodePending, "")
	}
	if !e.requestWrite(Action{Verb: Apply, Key: n.key, Version: n.version, Node: n.ID, Apply: a}) {
		if e.ledger.record.failure != nil {
			n.failBecause(&e.ledger.record, "the inventory can't be written: ")
		}
		return
	}
	if a.Drift {
		c := &p.corrections
		c.count++
		c.last = e.step.now
		c.next = e.step.now.Add(e.opts.Backoff.After(c.count))
	}
	p.digest, p.uid, p.rival = n.desired.digest, a.UID, e.rival(n, a)
	p.write.inFlight = true
	if !again {
		n.setPhase(v1alpha1.NodeApplying, "")
	}
}

// reportDifference shows, in [ModeStatus], why a node would be written.
func (e *Engine) reportDifference(n *node, a *ApplyRequest) {
	seen := e.cache.objects[n.key]
	message := "differs from the graph"
	switch {
	case seen.absent:
		message = "isn't applied"
	case a.Adopt:
		message = "doesn't belong to the graph yet"
	case a.Drift:
		message = "was changed by others since it was applied"
		if e.opts.NameDrift && n.progress.compared != seen.live {
			n.progress.compared = seen.live
			e.request(Action{Verb: Compare, Key: n.key, Version: n.version, Node: n.ID, Apply: a})
		}
	}
	if !seen.absent && seen.verdict.State != readiness.Ready {
		message += "; " + seen.verdict.Message
	}
	n.setPhase(v1alpha1.NodePending, message)
}

// recreate deletes an object that can't be changed in place, if its creation would
// be allowed and no annotation forbids its deletion. When it is gone, it is created as desired.
func (e *Engine) recreate(n *node, a *ApplyRequest) {
	seen := e.cache.objects[n.key]
	if seen.kept != "" {
		kept := *n.progress.write.failure
		kept.Message = "isn't deleted to recreate it, because it is " + seen.kept + ": " + kept.Message
		n.fail(&kept)
		return
	}
	if !e.triedAgain(n) {
		n.setPhase(v1alpha1.NodeApplying, "deleting it to recreate it: "+n.progress.write.failure.Message)
	}
	if e.requestWrite(Action{
		Verb: Delete, Key: n.key, Version: n.version, Node: n.ID, UID: seen.uid, ResourceVersion: seen.version, Apply: a,
	}) {
		n.progress.write.inFlight, n.progress.recreating = true, true
	}
}

// correctionReset is how long after a correction the next drift is corrected at
// once again.
const correctionReset = 10 * time.Minute

// mayCorrect reports whether drift of a node may be corrected now, and schedules
// the correction otherwise. The first correction is immediate and each further
// one is delayed longer, so that two writers that disagree don't keep overwriting
// each other.
func (e *Engine) mayCorrect(n *node) bool {
	c := &n.progress.corrections
	if e.step.now.Sub(c.last) > correctionReset {
		c.count = 0
	}
	if c.count == 0 {
		return true
	}
	if e.step.now.Before(c.next) {
		e.wakeAt(c.next)
		return false
	}
	return true
}

// finishApply receives the outcome of an Apply.
func (e *Engine) finishApply(a Action, n *node, o Outcome) {
	p := &n.progress
	p.write.inFlight = false
	if o.Err != nil {
		p.write.fail(o.Err, e.step.now, e.opts.Backoff)
		if !p.write.failure.Immutable || !n.policy.recreate { // otherwise the attempt continues with a deletion
			e.opts.Damper.wroteInVain(n.key, p.write.failure, e.step.now)
		}
		var f *Failure
		if !errors.As(o.Err, &f) || !f.Terminal {
			e.Forget(n.key) // the request may have been executed nevertheless
		}
		if f != nil && f.Reason == ReasonExists && p.write.failures == 1 {
			p.write.retryAt = e.step.now // the object decides what to do, and only has to be read
		}
		if o.Object != nil {
			e.observe(o.Object)
		}
		return
	}
	p.write.succeed()
	if e.opts.Damper.writeSucceeded(n.key) {
		e.retryRefused()
	}
	e.vouch(n.key)
	e.observe(o.Object)
	live, err := fields.OwnedDigest(o.Object, n.policy.manager, n.policy.ignore)
	if err != nil {
		p.write.fail(&Failure{Reason: ReasonInvalid, Message: err.Error(), Terminal: true}, e.step.now, e.opts.Backoff)
		return
	}
	first := e.ledger.entries[n.key].UID == ""
	e.ledger.applied(n, o.Object, live)
	p.op = applyOperation(a, o, p.recreating)
	p.recreating, p.restored = false, false
	p.waitingSince, p.explanation = time.Time{}, explanation{}
	n.status.Taken, n.touched = o.Taken, true
	if o.Created || o.Changed {
		if !first {
			e.opts.Damper.wrote(n.key, e.step.now)
		}
		e.opts.Damper.took(n.key, p.rival)
		n.status.AppliedAt = e.step.now
	}
}

// applyOperation names the effect of a successful Apply.
func applyOperation(a Action, o Outcome, recreating bool) Operation {
	switch {
	case o.Created && recreating:
		return Recreated
	case o.Created:
		return Created
	case a.Apply.Adopt:
		return Adopted
	case a.Apply.Drift && o.Changed:
		return Corrected
	case o.Changed:
		return Configured
	}
	return Unchanged
}
