package action

import (
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/event"
)

// report emits Events and counts runs, by what the write has changed.
func (s *session) report(before *v1alpha1.ActionStatus) {
	is := &s.a.Status
	if r := is.Run; r != nil && r.Ended() && (before.Run == nil || before.Run.Key == r.Key && !before.Run.Ended()) {
		s.Metrics.RunEnded(r.Request.Name(), r.Purpose, r.State, r.FinishedAt.Sub(r.IntentAt.Time))
		if r.State == v1alpha1.RunSucceeded {
			s.emit(corev1.EventTypeNormal, string(r.Purpose)+"Succeeded", s.message("the run has succeeded"))
		} else {
			s.emit(corev1.EventTypeWarning, string(r.Purpose)+string(r.State), s.message(r.Message))
		}
	}
	if c := is.LastCheck; c != nil && c.Result == v1alpha1.CheckDrifted && (before.LastCheck == nil || !before.LastCheck.At.Equal(&c.At)) {
		s.emit(corev1.EventTypeWarning, "Drifted", "the check found drift: "+c.Message)
	}
	was, now := stalledOf(before), stalledOf(is)
	if now != "" && now != was {
		s.emit(corev1.EventTypeWarning, "Stalled", now)
	}
	if is.Phase == v1alpha1.ActionWaitingForApproval && before.Phase != is.Phase {
		s.emit(corev1.EventTypeNormal, reasonWaitingForApproval, "the plan "+is.Plan.Digest+" waits for approval")
	}
}

// stalledOf returns the message of the condition Stalled, or "".
func stalledOf(s *v1alpha1.ActionStatus) string {
	if c := apimeta.FindStatusCondition(s.Conditions, v1alpha1.ConditionStalled); c != nil {
		return c.Reason + ": " + c.Message
	}
	return ""
}

func (s *session) emit(kind, reason, text string) {
	s.events.Eventf(event.About(v1alpha1.GroupVersion.WithKind("Action"), s.a), nil, kind, reason, "Run", "%s", event.Note(text))
}
