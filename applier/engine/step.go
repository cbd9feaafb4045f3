package engine

import (
	"maps"
	"slices"
	"time"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/inventory"
)

// Phase says how far a graph is.
type Phase string

// The phases of a graph.
const (
	Executing Phase = "Executing"
	// Pruning graphs have everything ready, and remove what left them.
	Pruning Phase = "Pruning"
	// Completed graphs match the cluster, and that is recorded.
	Completed Phase = "Completed"
	// Stuck graphs can't get further unless something is changed.
	Stuck Phase = "Stuck"
)

// Step is what the engine wants.
type Step struct {
	Actions []Action
	// Wake is when to call Step again if nothing happens before; zero means not
	// until something does.
	Wake  time.Time
	Phase Phase
	// PhaseAfterRecord is the phase as it will be when what is to be recorded is.
	PhaseAfterRecord Phase
	// Changes are the states that changed since the step before.
	Changes []Status
}

// Step judges everything that is known and says what to do next.
func (e *Engine) Step(now time.Time) Step {
	e.now, e.actions, e.wake, e.held = now, nil, time.Time{}, false
	phase, outlook := Executing, Executing
	if e.stop == nil && e.lookAround() {
		phase, outlook = e.advance()
	}
	if e.stop != nil {
		phase, outlook = Stuck, Stuck
	}
	step := Step{Actions: e.actions, Wake: e.wake, Phase: phase, PhaseAfterRecord: outlook, Changes: e.changes()}
	e.flying += len(e.actions)
	return step
}

// Err is the error that stopped the engine for good, if one did.
func (e *Engine) Err() error { return e.stop }

// advance goes through the nodes, and through what left when all are ready.
func (e *Engine) advance() (phase, outlook Phase) {
	ready := true
	e.complete = false
	for _, n := range e.order {
		e.revisit(n)
		ready = ready && (n.status.Phase == v1alpha1.NodeReady || e.opts.Mode == ModePlan && n.settled())
	}
	e.explainSome()
	if !ready {
		e.handOver()
	}
	phase = Executing
	switch {
	case ready:
		phase = e.prune()
		e.complete = phase == Completed && len(e.entries) == len(e.wanted)
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

// revisit judges a node if anything changed that its state depends on: what is
// known of its object, the answer to an action, a node that it needs, the time.
func (e *Engine) revisit(n *node) {
	if !n.stale && (n.due.IsZero() || e.now.Before(n.due)) {
		if !n.due.IsZero() {
			e.wakeAt(n.due)
		}
		return
	}
	phase, message, wake, held := n.status.Phase, n.status.Message, e.wake, e.held
	e.wake, e.held = time.Time{}, false
	e.visit(n)
	n.due, n.stale = e.wake, e.held
	e.wake, e.held = wake, held || e.held
	if !n.due.IsZero() {
		e.wakeAt(n.due)
	}
	if n.status.Phase != phase || n.status.Message != message {
		n.touchDependents()
	}
}

// lookAround asks once for everything that the graph and its inventory name.
func (e *Engine) lookAround() bool {
	if e.surveyed || len(e.entries) == 0 && len(e.nodes) == 0 {
		return true
	}
	if e.opts.NeverApplied && e.lost {
		e.assumeFresh()
		return true
	}
	if e.survey.flying {
		return false
	}
	if e.wait(&e.survey) {
		return false
	}
	e.survey.flying = true
	targets := make([]Target, 0, len(e.entries))
	for _, n := range e.nodes {
		targets = append(targets, Target{n.key, n.version, !n.external && e.entries[n.key].UID != ""})
	}
	keys := slices.SortedFunc(maps.Keys(e.entries), inventory.Key.Compare)
	for _, key := range keys {
		if _, isNode := e.byKey[key]; !isNode {
			targets = append(targets, Target{key, e.entries[key].Version, true})
		}
	}
	e.actions = append(e.actions, Action{Verb: Survey, Targets: targets})
	return false
}

// assumeFresh takes the objects for absent that a graph makes which was never
// executed; those that somebody else makes are read one by one.
func (e *Engine) assumeFresh() {
	e.surveyed, e.lost = true, false
	for _, n := range e.nodes {
		if !n.external && !n.listed && n.mode != v1alpha1.ApplyModeAdopt && e.selector == nil && e.world[n.key] == nil {
			e.learn(n.key, e.nothing(""))
		}
	}
}

// write adds an action that changes the cluster, unless the intent has to be
// recorded first. It reports whether the action was added.
func (e *Engine) write(a Action) bool {
	if e.opts.Mode == ModeStatus {
		return false
	}
	if !e.intent {
		e.held = true
		return false
	}
	e.ask(a)
	return true
}

// ask adds an action about an object.
func (e *Engine) ask(a Action) {
	a.was = e.world[a.Key]
	e.actions = append(e.actions, a)
}

// recordNext sees to it that the inventory is recorded: the intent before the
// first write, and what came of it when there is nothing more to do. It reports
// whether what is to be recorded by now is.
func (e *Engine) recordNext(phase Phase) bool {
	final := phase == Completed || phase == Stuck && e.flying == 0 && len(e.actions) == 0
	if !e.held && !final || e.opts.Mode == ModeStatus {
		return true
	}
	inv := e.Inventory()
	if final && e.saved.Revision == "" && len(e.entries) == 0 {
		return true // nothing was ever written, nor is there anything to write down
	}
	if e.record.flying {
		return false
	}
	if final && inventory.Equal(inv, e.saved) {
		return true
	}
	if e.wait(&e.record) {
		return false
	}
	e.record.flying = true
	e.actions = append(e.actions, Action{Verb: Record, Inventory: inv})
	return false
}

// hopeless says that every node that isn't ready has failed for good, or waits
// for one that has.
func (e *Engine) hopeless() bool {
	for _, n := range e.order {
		n.lost = n.status.hopeless()
		if n.status.Phase == v1alpha1.NodeBlocked {
			n.lost = slices.ContainsFunc(n.needs, func(m *node) bool { return m.lost })
		}
		if !n.lost && n.status.Phase != v1alpha1.NodeReady {
			return false
		}
	}
	return true
}

// changes are the states that differ from those that were reported last: a
// node's after those of the nodes that it needs.
func (e *Engine) changes() []Status {
	var changed []Status
	note := func(shown, status *Status) {
		if !shown.equal(status) {
			*shown = *status
			changed = append(changed, *status)
		}
	}
	for _, n := range e.order {
		if n.touched {
			note(&n.shown, &n.status)
			n.touched = false
		}
	}
	for _, level := range e.leaving {
		for _, l := range level {
			if e.pruning || l.status.Phase != v1alpha1.NodePending {
				note(&l.shown, &l.status)
			}
		}
	}
	return changed
}
