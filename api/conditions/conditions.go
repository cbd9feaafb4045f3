// Package conditions sets the standard conditions of kstatus: Ready, Reconciling and Stalled.
// Stalled means that the object can't become ready without a change.
package conditions

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// Writer sets conditions of an object. The transition time of a condition changes only with its
// status.
type Writer struct {
	To *[]metav1.Condition
	// Generation is that of the object which the conditions are about.
	Generation int64
	// Now is the time of transitions, by default that of the clock.
	Now time.Time
}

// Set sets a condition.
func (w Writer) Set(kind string, status metav1.ConditionStatus, reason, message string) {
	c := metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: w.Generation}
	if !w.Now.IsZero() {
		c.LastTransitionTime = metav1.NewTime(w.Now)
	}
	meta.SetStatusCondition(w.To, c)
}

// Ready sets the conditions of an object that is ready.
func (w Writer) Ready(reason, message string) {
	w.State(metav1.ConditionTrue, reason, message, "")
}

// Progressing sets the conditions of an object that may become ready by itself.
func (w Writer) Progressing(reason, message string) {
	w.State(metav1.ConditionFalse, reason, message, v1alpha1.ConditionReconciling)
}

// Stalled sets the conditions of an object that only a change makes ready.
func (w Writer) Stalled(reason, message string) {
	w.State(metav1.ConditionFalse, reason, message, v1alpha1.ConditionStalled)
}

// Failed sets the conditions of [Writer.Stalled] if it is stalled, and else those of
// [Writer.Progressing].
func (w Writer) Failed(stalled bool, reason, message string) {
	if stalled {
		w.Stalled(reason, message)
	} else {
		w.Progressing(reason, message)
	}
}

// State sets Ready, and of Reconciling and Stalled the one that abnormal names, or neither. All get
// the same reason and message.
func (w Writer) State(ready metav1.ConditionStatus, reason, message, abnormal string) {
	w.Set(v1alpha1.ConditionReady, ready, reason, message)
	for _, kind := range []string{v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled} {
		if kind == abnormal {
			w.Set(kind, metav1.ConditionTrue, reason, message)
		} else {
			meta.RemoveStatusCondition(w.To, kind)
		}
	}
}
