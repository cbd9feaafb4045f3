package engine

import (
	"slices"
	"time"
)

// explainedAtOnce bounds for how many nodes a cause is looked for in the time
// of Options.Explain: each costs requests, and nobody reads hundreds of causes.
const explainedAtOnce = 10

// explain notes that it is to be asked why a node isn't ready.
func (e *Engine) explain(n *node, seen *observed) {
	if e.opts.ExplainInterval <= 0 || seen.object == nil {
		return
	}
	if n.state.explained.IsZero() {
		n.state.explained = e.now.Add(-e.opts.ExplainInterval / 2) // give it a moment first
	}
	if next := n.state.explained.Add(e.opts.ExplainInterval); e.now.Before(next) {
		e.wakeAt(next)
		return
	}
	e.unexplained = append(e.unexplained, n)
}

// explainSome asks for the causes that were asked for the longest time ago.
func (e *Engine) explainSome() {
	waiting := e.unexplained
	e.unexplained = nil
	if len(waiting) == 0 {
		return
	}
	if next := e.explained.began.Add(e.opts.ExplainInterval); !e.now.Before(next) {
		e.explained.began, e.explained.nodes = e.now, 0
	}
	slices.SortStableFunc(waiting, func(a, b *node) int { return a.state.explained.Compare(b.state.explained) })
	next := e.explained.began.Add(e.opts.ExplainInterval)
	for _, n := range waiting {
		if n.due.IsZero() || next.Before(n.due) {
			n.due = next
		}
		if e.explained.nodes == explainedAtOnce {
			continue
		}
		e.explained.nodes++
		n.state.explained = e.now
		e.ask(Action{Verb: Explain, Key: n.key, Version: n.version, Node: n.ID, Object: asObject(e.world[n.key].object)})
	}
	e.wakeAt(next)
}

// explanations are those that were asked for since a time.
type explanations struct {
	began time.Time
	nodes int
}
