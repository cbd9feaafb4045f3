package execute

import (
	"cmp"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/event"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/operator/catalog"
)

// record writes a state to the status of a Transform, and then Events about what has changed.
// The error is a conflict if the Transform was changed since it was read: then nothing is known
// about the recorded state.
func (r *reconciler) record(ctx context.Context, t *v1alpha1.Transform, e *catalog.Entry, s v1alpha1.RolloutStatus) error {
	before := t.DeepCopy()
	t.Status.Rollout = &s
	if e.Rollout != nil || apimeta.FindStatusCondition(t.Status.Conditions, v1alpha1.ConditionRolledOut) != nil {
		setCondition(t, &s)
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.client.Status().Patch(ctx, t, patch, client.FieldOwner(v1alpha1.ManagerProgram)); err != nil {
		return err
	}
	r.mu.Lock()
	r.written[client.ObjectKeyFromObject(t)] = write{t, r.Now()}
	r.mu.Unlock()
	if e.Rollout != nil {
		old := v1alpha1.RolloutStatus{}
		if before.Status.Rollout != nil {
			old = *before.Status.Rollout
		}
		r.report(t, &old, &s)
	}
	return nil
}

// setCondition sets the condition RolledOut.
func setCondition(t *v1alpha1.Transform, s *v1alpha1.RolloutStatus) {
	c := metav1.Condition{
		Type: v1alpha1.ConditionRolledOut, Status: metav1.ConditionFalse, Reason: string(s.Phase), Message: s.Message, ObservedGeneration: t.Generation,
	}
	if s.Phase == v1alpha1.RolloutCompleted {
		c.Status, c.Message = metav1.ConditionTrue, "all instances have module "+s.ToDigest+", except those that are pinned, paused or refused"
	}
	apimeta.SetStatusCondition(&t.Status.Conditions, c)
}

// sameState reports whether two states are stored alike. The API server stores times without
// fractions of seconds.
func sameState(a, b *v1alpha1.RolloutStatus) bool {
	x, y := a.DeepCopy(), b.DeepCopy()
	if len(x.Canaries)+len(y.Canaries) == 0 {
		x.Canaries, y.Canaries = nil, nil
	}
	return equality.Semantic.DeepEqual(x, y)
}

// The reasons of Events about rollouts.
const (
	eventStarted   = "RolloutStarted"
	eventBatch     = "BatchStarted"
	eventHalted    = "RolloutHalted"
	eventResumed   = "RolloutResumed"
	eventAborting  = "RolloutAborting"
	eventAborted   = "RolloutAborted"
	eventCompleted = "RolloutCompleted"
)

// report emits Events about the step from one state of a rollout to the next.
func (r *reconciler) report(t *v1alpha1.Transform, old, s *v1alpha1.RolloutStatus) {
	if s.FromDigest == "" || s.FromDigest == s.ToDigest {
		return // the first version of a platform is no rollout
	}
	emit := func(reason, text string) {
		kind := corev1.EventTypeNormal
		if reason == eventHalted {
			kind = corev1.EventTypeWarning
		}
		event.Emit(r.events, v1alpha1.GroupVersion.WithKind("Transform"), t, kind, reason, "Rollout", text)
	}
	started := old.ToDigest != s.ToDigest
	if started && s.Phase != v1alpha1.RolloutCompleted {
		emit(eventStarted, fmt.Sprintf("module %s replaces %s: %s change; batches: %d", s.ToDigest, s.FromDigest,
			source.Count(s.Total, "instance"), s.Batches))
	}
	if s.Batch > 0 && (started || s.Batch > old.Batch) {
		emit(eventBatch, fmt.Sprintf("batch %d of %d: %d of %d instances may have module %s", s.Batch, s.Batches, s.Allowed, s.Total, s.ToDigest))
	}
	if old.Phase == v1alpha1.RolloutHalted && s.Phase == v1alpha1.RolloutProgressing && !started {
		emit(eventResumed, cmp.Or(s.Message, "the rollout goes on"))
	}
	if s.Phase == old.Phase && !started {
		return
	}
	switch s.Phase {
	case v1alpha1.RolloutHalted:
		emit(eventHalted, s.HaltedReason+": "+s.Message)
	case v1alpha1.RolloutAborting:
		emit(eventAborting, s.Message)
	case v1alpha1.RolloutAborted:
		emit(eventAborted, s.Message)
	case v1alpha1.RolloutCompleted:
		emit(eventCompleted, "all instances have module "+s.ToDigest+", except those that are pinned, paused or refused")
	}
}
