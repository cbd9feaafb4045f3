package engine

import (
	"cmp"
	"time"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/readiness"
)

// reportExternal sets the status of a node whose object is never written.
func (e *Engine) reportExternal(n *node, seen *observation) {
	n.progress.op = Observed
	n.progress.write.succeed()
	if seen.absent {
		n.wait(n.key.String() + " doesn't exist")
		e.checkTimeout(n)
		return
	}
	e.reportReadiness(n, seen)
}

// reportUnchanged sets the status of a node whose object needs no write.
func (e *Engine) reportUnchanged(n *node, seen *observation) {
	if n.progress.write.failure != nil && !n.progress.write.inFlight {
		n.progress.write.succeed()
	}
	if n.progress.op == "" {
		n.progress.op = Unchanged
	}
	e.reportReadiness(n, seen)
}

// reportReadiness sets the phase of a node by the readiness of its object.
func (e *Engine) reportReadiness(n *node, seen *observation) {
	done := e.done(n, seen)
	if seen.deleting && !done {
		n.wait(readiness.DeletionMessage(seen.finalizers))
		return
	}
	if e.opts.Mode == ModePlan {
		n.setPhase(v1alpha1.NodeReady, "")
		return
	}
	verdict, remark := n.progress.explanation.complete(seen), e.opts.Damper.contested(n.key)
	if done {
		verdict, remark = readiness.Verdict{State: readiness.Ready}, n.removedText()
	}
	switch verdict.State {
	case readiness.Ready:
		if n.status.Phase != v1alpha1.NodeReady {
			n.status.ReadyAt = e.step.now
		}
		if !n.progress.waitingSince.IsZero() {
			e.explanations.readied = e.step.now
		}
		n.progress.waitingSince = time.Time{}
		if seen.verdict.State == readiness.Ready {
			n.progress.explanation = explanation{}
		}
		n.setPhase(v1alpha1.NodeReady, cmp.Or(remark, verdict.Message))
	case readiness.Failed:
		n.fail(&Failure{Reason: ReasonNotReady, Message: verdict.Message, Terminal: true})
		e.scheduleExplanation(n, seen)
	case readiness.Degraded:
		n.setPhase(v1alpha1.NodeDegraded, verdict.Message)
		n.status.Reason = ReasonDegraded
		e.scheduleExplanation(n, seen)
		e.checkTimeout(n)
	default:
		n.setPhase(v1alpha1.NodeProgressing, verdict.Message)
		e.scheduleExplanation(n, seen)
		e.checkTimeout(n)
	}
}

// checkTimeout fails a node that waits for longer than its timeout. The clock
// starts when the node begins to wait after it was applied. The node recovers
// when its object becomes ready.
func (e *Engine) checkTimeout(n *node) {
	if n.progress.waitingSince.IsZero() {
		n.progress.waitingSince = e.step.now
	}
	if n.policy.timeout <= 0 {
		return
	}
	end := n.progress.waitingSince.Add(n.policy.timeout)
	if e.step.now.Before(end) {
		e.wakeAt(end)
		return
	}
	n.fail(&Failure{
		Reason: ReasonReadinessTimeout, Terminal: true,
		Message: "not ready in " + n.policy.timeout.String() + ": " + n.status.Message,
	})
}
