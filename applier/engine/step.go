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
	// Changes are the states that changed since the step before.
	Changes []Status
}

// Step judges everything that is known and says what to do next.
func (e *Engine) Step(now time.Time) Step {
	e.now, e.actions, e.wake, e.held = now, nil, time.Time{}, false
	before := e.Statuses()
	phase := Executing
	if e.stop == nil && e.lookAround() {
		phase = e.advance()
	}
	if e.stop != nil {
		phase = Stuck
	}
	step := Step{Actions: e.actions, Wake: e.wake, Phase: phase, Changes: e.changes(before)}
	e.flying += len(e.actions)
	return step
}

// Err is the error that stopped the engine for good, if one did.
func (e *Engine) Err() error { return e.stop }

// advance goes through the nodes, and through what left when all are ready.
func (e *Engine) advance() Phase {
	ready := true
	for _, n := range e.order {
		e.visit(n)
		ready = ready && (n.status.Phase == v1alpha1.NodeReady || e.opts.Preview && n.settled())
	}
	phase := Executing
	switch {
	case ready:
		phase = e.prune()
		e.complete = phase == Completed && e.opts.Prune
	case e.hopeless():
		phase = Stuck
	}
	if e.recordNext(phase) {
		return phase
	}
	if phase == Completed {
		return Pruning
	}
	return Executing
}

// lookAround asks once for everything that the graph and its inventory name.
func (e *Engine) lookAround() bool {
	if e.surveyed || len(e.entries) == 0 && len(e.nodes) == 0 {
		return true
	}
	if e.survey.flying || e.wait(&e.survey) {
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

// write adds an action that changes the cluster, unless the intent has to be
// recorded first. It reports whether the action was added.
func (e *Engine) write(a Action) bool {
	if e.opts.ReadOnly {
		return false
	}
	if !e.intent {
		e.held = true
		return false
	}
	e.actions = append(e.actions, a)
	return true
}

// recordNext sees to it that the inventory is recorded: the intent before the
// first write, and what came of it when there is nothing more to do. It reports
// whether what is to be recorded by now is.
func (e *Engine) recordNext(phase Phase) bool {
	final := phase == Completed || phase == Stuck && e.flying == 0 && len(e.actions) == 0
	if !e.held && !final || e.opts.ReadOnly {
		return true
	}
	inv := e.Inventory()
	if final && e.intentOnly() {
		return true
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

// intentOnly says that nothing was ever written: then there is nothing to record.
func (e *Engine) intentOnly() bool { return !e.intent && e.lost && len(e.entries) == 0 }

// hopeless says that every node that isn't ready has failed for good, or waits
// for one that has.
func (e *Engine) hopeless() bool {
	lost := make(map[*node]bool, len(e.order))
	for _, n := range e.order {
		switch n.status.Phase {
		case v1alpha1.NodeReady:
		case v1alpha1.NodeFailed:
			if !n.status.NextAttempt.IsZero() {
				return false
			}
			lost[n] = true
		case v1alpha1.NodeBlocked:
			if !slices.ContainsFunc(n.needs, func(m *node) bool { return lost[m] }) {
				return false
			}
			lost[n] = true
		default:
			return false
		}
	}
	return true
}

// changes are the states that differ from those before: a node's after those of
// the nodes that it needs.
func (e *Engine) changes(before []Status) []Status {
	old := make(map[inventory.Key]Status, len(before))
	for _, s := range before {
		old[s.Key] = s
	}
	var changed []Status
	note := func(s Status) {
		if was, ok := old[s.Key]; !ok || !was.equal(s) {
			changed = append(changed, s)
		}
	}
	for _, n := range e.order {
		note(n.status)
	}
	for _, level := range e.leaving {
		for _, l := range level {
			note(l.status)
		}
	}
	return changed
}
