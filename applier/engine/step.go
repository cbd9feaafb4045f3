package engine

import (
	"slices"
	"time"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// Step is the result of [Engine.Step].
type Step struct {
	// Actions are to be executed, in any order and concurrently.
	Actions []Action
	// Wake is the time of the next step if nothing happens before, zero if only an
	// outcome or an observation can change anything.
	Wake  time.Time
	Phase Phase
	// PhaseAfterRecord is the phase that the graph will have when the pending
	// Record succeeds. Without one it equals Phase.
	PhaseAfterRecord Phase
	// Changes are the statuses that changed since the previous step. Dependencies
	// come before their dependents.
	Changes []Status
}

// Step evaluates everything that is known and returns what to do next. Now must
// not be before the time of the previous step: it has to come from a clock that
// doesn't jump, such as time.Now with its monotonic reading.
func (e *Engine) Step(now time.Time) Step {
	e.step = stepState{now: now}
	e.beginEvaluations()
	phase, afterRecord := Executing, Executing
	if e.hasGrace() && !e.survey.done {
		e.opts.Departures.learn(e.ledger.entries, now, e.wall()) // before the clock may jump
	}
	if e.fatal == nil && e.surveyed() {
		phase, afterRecord = e.advance()
	}
	if e.fatal != nil {
		phase, afterRecord = Stuck, Stuck
	}
	step := Step{
		Actions: e.step.actions, Wake: e.step.wake, Phase: phase, PhaseAfterRecord: afterRecord,
		Changes: e.changes(),
	}
	e.inFlight += len(e.step.actions)
	e.endEvaluations()
	return step
}

// advance reconciles the nodes, then removes what left the graph if all of them
// are ready.
func (e *Engine) advance() (phase, afterRecord Phase) {
	ready := true
	e.ledger.complete = false
	e.searchAgain()
	if e.ledger.unmarked && e.hasGrace() {
		if e.ledger.markLeaving(e.wall()) {
			e.step.writeDeferred = true // records the time at once, also if no node is ready
		}
		e.opts.Departures.learn(e.ledger.entries, e.step.now, e.wall())
	}
	for _, n := range e.nodes.ordered {
		e.reconcileIfDue(n)
		ready = ready && (n.status.Phase == v1alpha1.NodeReady || e.opts.Mode == ModePlan && n.settled())
	}
	e.requestExplanations()
	if !ready {
		e.handOver()
	}
	phase = Executing
	switch {
	case ready:
		if phase = e.prune(); phase == Completed && e.searching() {
			phase = Pruning
		}
		e.ledger.complete = phase == Completed && len(e.ledger.entries) == len(e.ledger.desired)+e.removals.held
	case e.hopeless():
		phase = Stuck
	}
	if e.recordNext(phase) {
		return phase, phase
	}
	if ready {
		return Pruning, phase
	}
	return Executing, phase
}

// hopeless reports whether every node that isn't ready has failed for good or
// waits for one that has.
func (e *Engine) hopeless() bool {
	for _, n := range e.nodes.ordered {
		n.hopeless = n.status.failedForGood()
		if n.status.Phase == v1alpha1.NodeBlocked {
			n.hopeless = slices.ContainsFunc(n.needs, func(m *node) bool { return m.hopeless })
		}
		if !n.hopeless && n.status.Phase != v1alpha1.NodeReady {
			return false
		}
	}
	return true
}

// changes returns the statuses that differ from the ones that were reported
// before, and marks them as reported.
func (e *Engine) changes() []Status {
	var changed []Status
	report := func(reported, status *Status) {
		if !reported.equal(status) {
			*reported = *status
			changed = append(changed, *status)
		}
	}
	for _, n := range e.nodes.ordered {
		if n.touched {
			report(&n.reported, &n.status)
			n.touched = false
		}
	}
	for r := range e.removals.visible {
		report(&r.reported, &r.status)
	}
	return changed
}
