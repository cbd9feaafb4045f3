package engine

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/applier/resolve"
)

// Expressions are evaluated within a step, so an expensive graph occupies its
// driver. Such a graph evaluates in slices: a step stops evaluating after half a
// million units of CEL's cost, about a tenth of a second, and the graph then rests
// for some seconds. Graphs whose evaluations cost less than minSlice never rest.
const minSlice = 100_000

// rest returns how long a graph rests after evaluations of a cost: five
// microseconds per unit, which is about 25 times as long as they took.
func rest(cost uint64) time.Duration { return 5 * time.Duration(cost) * time.Microsecond }

// beginEvaluations allows evaluations in this step, unless the graph rests.
func (e *Engine) beginEvaluations() {
	if e.resolver != nil && !e.step.now.Before(e.evaluateAt) {
		e.resolver.BeginStep()
		e.evaluateAt = time.Time{}
	}
}

// endEvaluations lets the graph rest after expensive evaluations.
func (e *Engine) endEvaluations() {
	if e.resolver != nil && e.opts.Mode == ModeApply && e.resolver.Spent() >= minSlice {
		e.evaluateAt = e.step.now.Add(rest(e.resolver.Spent()))
	}
}

// evaluateLater makes a node wait until the graph has rested.
func (e *Engine) evaluateLater(n *node) {
	n.wait(resolve.ErrLater.Error())
	at := e.step.now.Add(rest(e.resolver.Spent()))
	if e.evaluateAt.After(at) {
		at = e.evaluateAt
	}
	e.wakeAt(at)
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

// keep keeps a live object in its observation, for the expressions that read it
// and to find out why it isn't ready. Without room for it, expressions fail.
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
	if n.referenced {
		o.err = &Failure{
			Reason: ReasonOverBudget, Terminal: true,
			Message: fmt.Sprintf("the objects that the graph's expressions read are %d bytes; the limit is %d", total, maxLive),
		}
	}
}
