package engine

import (
	"errors"
	"time"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/readiness"
	"github.com/pequod-io/pequod/applier/resolve"
	"github.com/pequod-io/pequod/inventory"
)

// visit judges one node, and asks for what it needs.
func (e *Engine) visit(n *node) {
	seen := e.world[n.key]
	blocker := e.blocker(n)
	switch {
	case n.state.flying:
		// What it was is shown until it is known what came of it.
		if n.status.Phase != v1alpha1.NodeReady {
			n.status.Phase, n.touched = v1alpha1.NodeApplying, true
		}
		return
	case seen == nil && blocker != nil:
		e.blocked(n, blocker)
		return
	case seen == nil:
		e.read(n)
		return
	case seen.err != nil:
		var f *Failure
		if !errors.As(seen.err, &f) {
			f = &Failure{Reason: ReasonInvalid, Message: seen.err.Error(), Terminal: true}
		}
		e.fail(n, f)
		return
	case n.external || e.mirrored(n, seen):
		e.observe(n, seen)
		e.poll(n.key, n.version, n.ID, n.status.Phase, seen, &n.state.look, &n.state.polled)
		return
	}
	e.want(n)
	var waits *resolve.WaitError
	switch {
	case n.want.err != nil && blocker != nil:
		e.blocked(n, blocker)
		return
	case errors.As(n.want.err, &waits):
		e.waitFor(n, waits.Message)
		e.expire(n)
		return
	case n.want.err != nil:
		e.fail(n, &Failure{Reason: ReasonReference, Message: referenceText(n.want.err), Terminal: true})
		return
	}
	d := e.decide(n, seen)
	n.unrecorded = d.unrecorded
	e.reportDrift(n, seen, d.drift)
	switch {
	case d.unchanged:
		e.own(n, seen)
		e.settle(n, seen)
	case blocker != nil && (seen.absent || e.opts.Mode != ModeStatus):
		e.blocked(n, blocker)
	case d.wait != "":
		e.waitFor(n, d.wait)
	case d.failure != nil:
		e.fail(n, d.failure)
	default:
		e.apply(n, d.apply)
	}
	e.poll(n.key, n.version, n.ID, n.status.Phase, seen, &n.state.look, &n.state.polled)
}

// reportDrift shows that an object is left as others changed it, and asks which
// fields those are if that is to be known.
func (e *Engine) reportDrift(n *node, seen *observed, drift *ApplyRequest) {
	switch {
	case drift == nil:
		n.touched = n.touched || n.status.Drifted
		n.status.Drifted, n.state.compared = false, ""
	case e.opts.Drift != ReportDriftedFields:
		n.touched = n.touched || !n.status.Drifted
		n.status.Drifted = true
	case n.state.compared != seen.live:
		n.state.compared = seen.live
		e.ask(Action{Verb: Compare, Key: n.key, Version: n.version, Node: n.ID, Apply: drift})
	}
}

// own notes which object is the node's, where that wasn't known: one of mode
// Create isn't applied again, and the answer to its creation may have been lost.
func (e *Engine) own(n *node, seen *observed) {
	if entry := e.entries[n.key]; entry.UID != seen.uid && e.ours(n.key, seen) {
		entry.UID = seen.uid
		e.entries[n.key] = entry
	}
}

// poll reads an object that is waited for, every now and then: a watch may have
// missed what happened, or not be allowed.
func (e *Engine) poll(key inventory.Key, version, id string, phase v1alpha1.NodePhase, seen *observed, look *failureState, polled *time.Time) {
	switch phase {
	case v1alpha1.NodeProgressing, v1alpha1.NodeWaiting, v1alpha1.NodeDeleting:
	default:
		return
	}
	if e.opts.PollInterval <= 0 || look.flying {
		return
	}
	last := seen.at
	if polled.After(last) {
		last = *polled
	}
	if next := last.Add(e.opts.PollInterval); e.now.Before(next) {
		e.wakeAt(next)
		return
	}
	*polled = e.now
	look.flying = true
	e.ask(Action{Verb: Read, Key: key, Version: version, Node: id})
}

// blocker is the first of the nodes that a node needs which isn't ready.
func (e *Engine) blocker(n *node) *node {
	for _, m := range n.needs {
		if m.status.Phase != v1alpha1.NodeReady && !(e.opts.Mode == ModePlan && m.settled()) {
			return m
		}
	}
	return nil
}

// settled says whether a preview has nothing more to say of a node.
func (n *node) settled() bool {
	switch n.status.Phase {
	case v1alpha1.NodeReady, v1alpha1.NodeWaiting, v1alpha1.NodeFailed:
		return !n.state.flying
	}
	return false
}

func (e *Engine) set(n *node, phase v1alpha1.NodePhase, message string) {
	n.status.Phase, n.status.Message, n.touched = phase, message, true
	n.status.Reason, n.status.BlockedBy, n.status.NextAttempt = "", "", noTime
	n.status.Attempts = n.state.failures
	n.status.Op = n.state.op
}

// blocked names the nearest node that a node waits for, and what that one has
// failed of or waits for itself.
func (e *Engine) blocked(n, by *node) {
	message, root := "waits for "+by.ID, by
	if by.status.Phase == v1alpha1.NodeBlocked {
		root = by.root
		message += ", which waits for " + root.ID
	}
	if root.status.Phase == v1alpha1.NodeFailed {
		message += ", which failed"
	}
	e.set(n, v1alpha1.NodeBlocked, message)
	n.status.BlockedBy, n.root = by.ID, root
	n.state.began = noTime
}

func (e *Engine) waitFor(n *node, message string) { e.set(n, v1alpha1.NodeWaiting, message) }

// fail shows a failure. One that may pass is shown with the time of the next try.
func (e *Engine) fail(n *node, f *Failure) {
	e.set(n, v1alpha1.NodeFailed, f.Message)
	n.status.Reason = f.Reason
	if !f.Terminal {
		n.status.NextAttempt = n.state.retryAt
	}
}

// failOf shows the failure of something else than the node's own writes.
func (e *Engine) failOf(n *node, s *failureState, what string) {
	e.fail(n, s.failure)
	n.status.Message, n.status.Attempts = what+s.failure.Message, s.failures
	if !s.failure.Terminal {
		n.status.NextAttempt = s.retryAt
	}
}

// read asks for an object that isn't known.
func (e *Engine) read(n *node) {
	look := &n.state.look
	if look.flying {
		return
	}
	if e.wait(look) {
		e.failOf(n, look, "")
		return
	}
	look.flying = true
	if n.status.Phase != v1alpha1.NodeFailed {
		e.set(n, v1alpha1.NodePending, "")
	}
	e.ask(Action{Verb: Read, Key: n.key, Version: n.version, Node: n.ID})
}

// observe judges an object that is never written.
func (e *Engine) observe(n *node, seen *observed) {
	n.state.op = Observed
	n.state.succeeded()
	if seen.absent {
		e.waitFor(n, n.key.String()+" doesn't exist")
		e.expire(n)
		return
	}
	e.judge(n, seen)
}

// settle judges an object that is as it is wanted.
func (e *Engine) settle(n *node, seen *observed) {
	if n.state.failure != nil && !n.state.flying {
		n.state.succeeded()
	}
	if n.state.op == "" {
		n.state.op = Unchanged
	}
	e.judge(n, seen)
}

// judge shows whether an object is ready, and since when it is waited for.
func (e *Engine) judge(n *node, seen *observed) {
	if seen.deleting {
		e.waitFor(n, deletionText(seen))
		return
	}
	if e.opts.Mode == ModePlan {
		e.set(n, v1alpha1.NodeReady, "")
		return
	}
	switch v := seen.verdict; v.State {
	case readiness.Ready:
		if n.status.Phase != v1alpha1.NodeReady {
			n.status.ReadyAt = e.now
		}
		n.state.began, n.state.cause = noTime, ""
		e.set(n, v1alpha1.NodeReady, "")
	case readiness.Failed:
		message := v.Message
		if n.state.cause != "" {
			message += ": " + n.state.cause
		}
		e.fail(n, &Failure{Reason: ReasonNotReady, Message: message, Terminal: true})
		e.explain(n, seen)
	default:
		message := v.Message
		if n.state.cause != "" {
			message += ": " + n.state.cause
		}
		e.set(n, v1alpha1.NodeProgressing, message)
		e.explain(n, seen)
		e.expire(n)
	}
}

// expire fails a node that waits for longer than its policy allows.
func (e *Engine) expire(n *node) {
	if n.state.began.IsZero() {
		n.state.began = e.now
	}
	if n.timeout <= 0 {
		return
	}
	end := n.state.began.Add(n.timeout)
	if e.now.Before(end) {
		e.wakeAt(end)
		return
	}
	e.fail(n, &Failure{
		Reason: ReasonReadinessTimeout, Terminal: true,
		Message: "not ready in " + n.timeout.String() + ": " + n.status.Message,
	})
}
