package engine

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/readiness"
)

// maxExplanations limits the Explain actions of one ExplainInterval. Each costs
// several requests, and users don't read hundreds of causes.
const maxExplanations = 10

// decisionInterval is the time between the first explanations of an undecided node, if
// it is shorter than ExplainInterval. The explanation may make it ready, and the Events
// that it needs are written a moment after the object.
const decisionInterval = time.Second

// scheduleExplanation queues a node that isn't ready for [Engine.requestExplanations]
// if its last explanation is old enough. The first one is delayed by half an
// interval: most objects become ready by then. That of an undecided node isn't delayed, so
// that one which was ready in an earlier run is ready again at once.
func (e *Engine) scheduleExplanation(n *node, seen *observation) {
	if e.opts.ExplainInterval <= 0 || seen.object == nil || n.progress.explaining {
		return
	}
	if n.progress.explained.IsZero() && seen.verdict.State != readiness.Undecided {
		n.progress.explained = e.step.now.Add(-e.opts.ExplainInterval / 2)
	}
	if next := n.progress.explained.Add(e.explainInterval(n, seen)); e.step.now.Before(next) {
		e.wakeAt(next)
		return
	}
	e.step.unexplained = append(e.step.unexplained, n)
}

// maxExplainInterval is the longest time between two explanations of a node.
const maxExplainInterval = 5 * time.Minute

// explainInterval returns the time between two explanations of a node. It grows with
// the time for which the node isn't ready: a cause that was the same for an hour
// rarely changes within seconds, and a thousand broken graphs must not load the API
// server for ever.
func (e *Engine) explainInterval(n *node, seen *observation) time.Duration {
	waiting := e.step.now.Sub(n.progress.waitingSince)
	if n.progress.waitingSince.IsZero() {
		waiting = 0
	}
	least := e.opts.ExplainInterval
	if seen.verdict.State == readiness.Undecided {
		least = min(least, decisionInterval)
	}
	return max(least, min(waiting/4, maxExplainInterval))
}

// patience is the number of explain intervals for which a node isn't explained while
// others become ready.
const patience = 5

// mayBecomeReady reports whether a node probably becomes ready by itself, because others
// did a moment ago. On a slow cluster, lookups would delay all of them further.
func (e *Engine) mayBecomeReady(n *node) bool {
	return n.status.Phase == v1alpha1.NodeProgressing && e.step.now.Sub(e.explanations.readied) < e.opts.ExplainInterval &&
		e.step.now.Sub(n.progress.waitingSince) < patience*e.opts.ExplainInterval
}

// requestExplanations requests the causes of the queued nodes, beginning with the
// ones that were explained the longest time ago. Nodes beyond the limit are
// reconciled again in the next interval, and so are all of them while objects are
// being applied: on a slow API server, lookups would delay the applies further. None of
// this holds for undecided nodes, because others wait for their explanation.
func (e *Engine) requestExplanations() {
	waiting := e.step.unexplained
	if len(waiting) == 0 {
		return
	}
	interval := &e.explanations
	if next := interval.began.Add(e.opts.ExplainInterval); !e.step.now.Before(next) {
		interval.began, interval.count = e.step.now, 0
	}
	slices.SortStableFunc(waiting, func(a, b *node) int { return a.progress.explained.Compare(b.progress.explained) })
	next := interval.began.Add(e.opts.ExplainInterval)
	for _, n := range waiting {
		seen := e.cache.objects[n.key]
		if n.schedule.due.IsZero() || next.Before(n.schedule.due) {
			n.schedule.due = next
		}
		if seen.verdict.State != readiness.Undecided {
			if interval.count == maxExplanations || e.applying > 0 || e.mayBecomeReady(n) {
				continue
			}
			interval.count++
		}
		n.progress.explained, n.progress.explaining = e.step.now, true
		object := &unstructured.Unstructured{Object: seen.object}
		e.request(Action{Verb: Explain, Key: n.key, Version: n.version, Node: n.ID, Object: object})
	}
	e.wakeAt(next)
}

// finishExplain receives a cause. A failed lookup is ignored: it is repeated in the next
// interval.
func (e *Engine) finishExplain(a Action, n *node, o Outcome) {
	if n == nil {
		return
	}
	n.progress.explaining = false
	if o.Err == nil && n.status.Phase != v1alpha1.NodeReady {
		n.progress.explanation = explanation{o.Found, a.Object.GetUID()}
	}
}
