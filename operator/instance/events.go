package instance

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/event"
	"github.com/pequod-io/pequod/internal/problem"
)

// report emits an Event of the instance about a refusal, once. The status in the cluster shows
// whether another process did so before.
func (t *task) report(r *refusal) {
	if r == nil {
		t.memory.reported = refusal{}
		return
	}
	first := t.memory.reported == refusal{}
	shown := first && t.alreadyShown(r)
	t.countViolations(r, shown)
	if t.memory.reported == *r {
		return
	}
	t.memory.reported = *r
	t.Metrics.ReconcileFailed(r.reason)
	if shown {
		return
	}
	reason := r.reason
	if reason == reasonPolicyUnchecked {
		reason = reasonRenderFailed
	}
	t.warn(reason, "Render", r.message)
}

// countViolations counts the findings of policies in an instance, once for each generation unless they
// change. A generation that was refused for another reason before is counted, too.
func (t *task) countViolations(r *refusal, shown bool) {
	now := counted{t.instance.GetGeneration(), r.violations}
	if now.violations == (counted{}).violations || t.memory.counted == now {
		return
	}
	t.memory.counted = now
	for i, n := range r.violations {
		if n > 0 && !shown {
			t.Metrics.PolicyViolations(string(severities[i]), n)
		}
	}
}

// severities are the severities of violations by those of problems.
var severities = [...]v1alpha1.Severity{problem.Error: v1alpha1.SeverityError, problem.Warning: v1alpha1.SeverityWarning, problem.Note: v1alpha1.SeverityInfo}

// alreadyShown reports whether the stored status is about the same refusal.
func (t *task) alreadyShown(r *refusal) bool {
	ready := meta.FindStatusCondition(t.stored.Conditions, v1alpha1.ConditionReady)
	return ready != nil && ready.Reason == r.reason && t.stored.ObservedGeneration == t.instance.GetGeneration()
}

// warn emits a Warning about the instance.
func (t *task) warn(reason, action, note string) {
	event.Emit(t.events, t.instance.GroupVersionKind(), t.instance, corev1.EventTypeWarning, reason, action, note)
}

// refusesOwn reports whether the API server has refused a status because of the fields of
// #Status. They are remembered then, so that the rest of the status can be written.
func (t *task) refusesOwn(err error, next *status) bool {
	if !apierrors.IsInvalid(err) || len(next.Own) == 0 || t.memory.refusedStatus != nil && equality.Semantic.DeepEqual(t.memory.refusedStatus.fields, next.Own) {
		return false
	}
	t.memory.refusedStatus = &refusedStatus{fields: next.Own, why: fmt.Sprintf(
		"the outputs %v are not written to the fields of #Status: %v", slices.Sorted(maps.Keys(next.Own)), err)}
	t.warn(reasonStatusRefused, "WriteStatus", t.memory.refusedStatus.why)
	return true
}

// reasonStatusRefused is the reason of the Event about outputs that don't have the types of
// #Status.
const reasonStatusRefused = "StatusRefused"
