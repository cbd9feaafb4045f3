package engine

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/applier/readiness"
	"github.com/pequod-io/pequod/applier/resolve"
)

// Expressions are evaluated within a step, so an expensive graph occupies its
// driver. Such a graph evaluates in slices: it stops evaluating after half a million
// units of CEL's cost, about a tenth of a second, and then rests until the slice has
// lasted for 25 times as long as the evaluations took. Late references and readiness
// expressions share a slice, and the [Damper] carries it from one engine of the graph
// to the next: an object that changes all the time causes one run after the other.

// rest returns how long a slice of a cost lasts: five microseconds per unit.
func rest(cost uint64) time.Duration { return 5 * time.Duration(cost) * time.Microsecond }

// resumeSlice continues the slice of the last engine of the graph.
func (e *Engine) resumeSlice() {
	if d := e.opts.Damper; d != nil {
		e.sliceBegan = d.sliceBegan
		e.resolver.Spend(d.sliceCost)
	}
}

// sliceEnds returns when expressions may be evaluated again after expensive ones.
func (e *Engine) sliceEnds() time.Time { return e.sliceBegan.Add(rest(e.resolver.Spent())) }

// beginEvaluations begins another slice, unless the last one isn't over.
func (e *Engine) beginEvaluations() {
	if e.resolver != nil && !e.step.now.Before(e.sliceEnds()) {
		e.resolver.BeginStep()
		e.sliceBegan = e.step.now
	}
}

// endEvaluations remembers the slice for the next engine.
func (e *Engine) endEvaluations() {
	if d := e.opts.Damper; d != nil && e.resolver != nil {
		d.sliceBegan, d.sliceCost = e.sliceBegan, e.resolver.Spent()
	}
}

// evaluateLater makes a node wait until the graph has rested.
func (e *Engine) evaluateLater(n *node) {
	n.wait(resolve.ErrLater.Error())
	e.wakeAt(e.sliceEnds())
}

// judge evaluates the readiness of an object. In a slice that is used up, the object is
// kept instead, and a later step calls judgeLater. Plans and statuses share no process
// with other graphs.
func (e *Engine) judge(n *node, o *observation, obj *unstructured.Unstructured) {
	if o.unjudged = n.checker.HasExpressions() && e.opts.Mode == ModeApply && e.resolver.Exhausted(); !o.unjudged {
		verdict, cost := n.checker.Measure(obj)
		e.resolver.Spend(cost)
		o.verdict = verdict
	}
	if n.referenced || o.unjudged || o.verdict.State != readiness.Ready {
		e.keep(n, o, obj)
	}
}

// judgeLater evaluates the readiness of an object that is known already. It returns the
// observation with the verdict, or seen if the slice is used up.
func (e *Engine) judgeLater(n *node, seen *observation) *observation {
	if e.resolver.Exhausted() {
		return seen
	}
	judged := *seen
	judged.object, judged.size = nil, 0
	obj := &unstructured.Unstructured{Object: seen.object}
	e.judge(n, &judged, obj)
	judged.finished = n.finished(&judged, obj)
	e.put(n.key, &judged)
	return &judged
}

// referenceFailure returns the failure of a node whose references can't be
// resolved.
func referenceFailure(err error) *Failure {
	if errors.As(err, new(*resolve.BudgetError)) {
		return &Failure{Reason: ReasonOverBudget, Message: err.Error(), Terminal: true}
	}
	return &Failure{Reason: ReasonReference, Message: referenceMessage(err), Terminal: true}
}

// maxLive is the maximum size in bytes of the live objects that a graph keeps for
// its expressions.
const maxLive = 4 << 20

// keep keeps a live object in its observation, for the expressions that read it now or
// later, and to find out why it isn't ready. Without room for it, expressions fail.
func (e *Engine) keep(n *node, o *observation, obj *unstructured.Unstructured) {
	size := resolve.Size(obj.Object)
	total := e.cache.bytes + size
	if old := e.cache.objects[n.key]; old != nil {
		total -= old.size
	}
	if total <= maxLive {
		o.object, o.size = obj.Object, size
		return
	}
	if n.referenced || o.unjudged {
		o.err = &Failure{
			Reason: ReasonOverBudget, Terminal: true,
			Message: fmt.Sprintf("the objects that the graph's expressions read are %d bytes; the limit is %d", total, maxLive),
		}
	}
}
