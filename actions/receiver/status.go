package receiver

import (
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/source"
)

// The reasons of the conditions of Receivers.
const (
	reasonReceiving   = "Receiving"
	reasonInvalid     = "InvalidReceiver"
	reasonDisabled    = "WebhooksDisabled"
	reasonUnavailable = "SecretUnavailable"
	reasonPaused      = "Paused"
	reasonConnecting  = "Connecting"
	reasonSource      = "SourceUnavailable"
)

// maxMessage is the size of the message of a condition in bytes.
const maxMessage = 1024

// status changes the conditions of a Receiver.
type status struct {
	receiver *v1alpha1.Receiver
	now      time.Time
}

func (s *status) set(name string, value metav1.ConditionStatus, reason, message string) {
	apimeta.SetStatusCondition(&s.receiver.Status.Conditions, metav1.Condition{
		Type: name, Status: value, Reason: reason, Message: source.OneLine(message, maxMessage),
		ObservedGeneration: s.receiver.Generation, LastTransitionTime: metav1.NewTime(s.now),
	})
}

func (s *status) remove(names ...string) {
	for _, name := range names {
		apimeta.RemoveStatusCondition(&s.receiver.Status.Conditions, name)
	}
}

func (s *status) ready(message string) {
	s.set(v1alpha1.ConditionReady, metav1.ConditionTrue, reasonReceiving, message)
	s.remove(v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled)
}

func (s *status) progressing(reason, message string) {
	s.set(v1alpha1.ConditionReady, metav1.ConditionFalse, reason, message)
	s.set(v1alpha1.ConditionReconciling, metav1.ConditionTrue, reason, message)
	s.remove(v1alpha1.ConditionStalled)
}

func (s *status) stalled(reason, message string) {
	s.set(v1alpha1.ConditionReady, metav1.ConditionFalse, reason, message)
	s.set(v1alpha1.ConditionStalled, metav1.ConditionTrue, reason, message)
	s.remove(v1alpha1.ConditionReconciling)
}
