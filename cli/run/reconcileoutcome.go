package run

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/cluster"
)

// outcome is how a requested reconciliation ended, or how far it is.
type outcome struct {
	ended, ready bool
	message      string
}

// outcomeOf returns the outcome that an event of a watch of one object shows.
func outcomeOf(ev cluster.Event) outcome {
	switch {
	case ev.Deleted, ev.Listing != nil && len(ev.Listing.Objects) == 0:
		return outcome{ended: true, message: "it was deleted"}
	case ev.Listing != nil:
		return outcomeOfObject(&ev.Listing.Objects[0])
	}
	return outcomeOfObject(ev.Object)
}

// outcomeOfObject returns the outcome that an object shows: the status has to repeat the value
// of the annotation, be about the current generation, and not be in progress.
func outcomeOfObject(obj *unstructured.Unstructured) outcome {
	status, _, _ := unstructured.NestedMap(obj.Object, "status")
	if reason := suspended(obj); reason != "" {
		return outcome{ended: true, message: "it was suspended: " + reason}
	}
	requested := obj.GetAnnotations()[v1alpha1.AnnotationReconcileRequestedAt]
	if status["reconcileRequestedAt"] != requested && status["lastHandledReconcileAt"] != requested {
		return outcome{message: "no controller has begun it yet"}
	}
	byType := map[string]map[string]any{}
	conditions, _, _ := unstructured.NestedSlice(status, "conditions")
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok {
			kind, _ := c["type"].(string)
			byType[kind] = c
		}
	}
	ready := byType[v1alpha1.ConditionReady]
	message, _ := ready["message"].(string)
	if observed, ok := status["observedGeneration"].(int64); ok && observed != obj.GetGeneration() {
		return outcome{message: message}
	}
	reconciling := byType[v1alpha1.ConditionReconciling]["status"] == "True"
	return outcome{
		ended:   !reconciling && (ready["status"] == "True" || ready["status"] == "False"),
		ready:   ready["status"] == "True",
		message: message,
	}
}
