package engine

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// maxExplanations limits the Explain actions of one ExplainInterval. Each costs
// several requests, and users don't read hundreds of causes.
const maxExplanations = 10

// scheduleExplanation queues a node that isn't ready for [Engine.requestExplanations]
// if its last explanation is old enough. The first one is delayed by half an
// interval: most objects become ready by then.
func (e *Engine) scheduleExplanation(n *node, seen *observation) {
	if e.opts.ExplainInterval <= 0 || seen.object == nil {
		return
	}
	if n.progress.explained.IsZero() {
		n.progress.explained = e.step.now.Add(-e.opts.ExplainInterval / 2)
	}
	if next := n.progress.explained.Add(e.explainInterval(n)); e.step.now.Before(next) {
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
func (e *Engine) explainInterval(n *node) time.Duration {
	waiting := e.step.now.Sub(n.progress.waitingSince)
	if n.progress.waitingSince.IsZero() {
		waiting = 0
	}
	return max(e.opts.ExplainInterval, min(waiting/4, maxExplainInterval))
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
// being applied: on a slow API server, lookups would delay the applies further.
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
		if n.schedule.due.IsZero() || next.Before(n.schedule.due) {
			n.schedule.due = next
		}
		if interval.count == maxExplanations || e.applying > 0 || e.mayBecomeReady(n) {
			continue
		}
		interval.count++
		n.progress.explained = e.step.now
		object := &unstructured.Unstructured{Object: e.cache.objects[n.key].object}
		e.request(Action{Verb: Explain, Key: n.key, Version: n.version, Node: n.ID, Object: object})
	}
	e.wakeAt(next)
}

// finishExplain receives a cause. A failed lookup is ignored: it only adds to the
// message of the node, and is repeated in the next interval.
func (e *Engine) finishExplain(n *node, o Outcome) {
	if n != nil && o.Err == nil && n.status.Phase != v1alpha1.NodeReady {
		n.progress.cause = o.Message
	}
}
