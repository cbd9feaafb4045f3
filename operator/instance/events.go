package instance

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/source"
)

// maxNote is the number of bytes of an Event's note. The API server allows 1024.
const maxNote = 1000

// report emits an Event of the instance about a refusal, once. The status in the cluster
// shows whether another process did so before.
func (t *task) report(r *refusal) {
	if r == nil {
		t.memory.reported = refusal{}
		return
	}
	if t.memory.reported == *r {
		return
	}
	first := t.memory.reported == refusal{}
	t.memory.reported = *r
	t.Metrics.ReconcileFailed(r.reason)
	if first && t.alreadyShown(r) {
		return
	}
	reason := r.reason
	if reason == reasonPolicyUnchecked {
		reason = reasonRenderFailed
	}
	t.events.Eventf(t.regarding(), nil, corev1.EventTypeWarning, reason, "Render", "%s", source.OneLine(r.message, maxNote))
}

// alreadyShown reports whether the stored status is about the same refusal.
func (t *task) alreadyShown(r *refusal) bool {
	ready := meta.FindStatusCondition(t.stored.Conditions, v1alpha1.ConditionReady)
	return ready != nil && ready.Reason == r.reason && t.stored.ObservedGeneration == t.instance.GetGeneration()
}

// regarding returns the instance as Events name it: without its resource version, so that
// Events with the same reason are counted as one.
func (t *task) regarding() *unstructured.Unstructured {
	ref := &unstructured.Unstructured{}
	ref.SetGroupVersionKind(t.instance.GroupVersionKind())
	ref.SetNamespace(t.instance.GetNamespace())
	ref.SetName(t.instance.GetName())
	ref.SetUID(t.instance.GetUID())
	return ref
}
