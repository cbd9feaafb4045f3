package monitor

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/actions/verdict"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/event"
)

// The reasons of Events about Monitors.
const (
	eventChanged     = "StateChanged"
	eventUnreachable = "TargetUnreachable"
	eventReachable   = "TargetReachable"
	eventFired       = "RuleFired"
	eventTripped     = "Tripped"
	eventRuleFailed  = "RuleFailed"
	eventActed       = "ActionSucceeded"
	eventFailed      = "ActionFailed"
	eventStalled     = "Stalled"
)

// report emits Events about what a reading has shown, and about a Monitor that stalls.
func (s *session) report(events []verdict.Event) {
	if c := apimeta.FindStatusCondition(s.next.Conditions, v1alpha1.ConditionStalled); c != nil {
		was := apimeta.FindStatusCondition(s.m.Status.Conditions, v1alpha1.ConditionStalled)
		if was == nil || was.Message != c.Message {
			s.emit(nil, corev1.EventTypeWarning, eventStalled, c.Reason+": "+c.Message)
		}
	}
	failed := map[string]bool{} // one Event for a rule is enough, however many targets there are
	for _, e := range events {
		t := &e.Target
		switch e.Kind {
		case verdict.Changed:
			s.emit(t, corev1.EventTypeNormal, eventChanged, "the state of "+t.Name+" has changed")
		case verdict.Lost:
			s.emit(t, corev1.EventTypeWarning, eventUnreachable, t.Name+" can't be read: "+e.Err.Error())
		case verdict.Found:
			s.emit(t, corev1.EventTypeNormal, eventReachable, t.Name+" can be read again")
		case verdict.Tripped:
			s.emit(t, corev1.EventTypeWarning, eventTripped, "rule "+e.Rule+" has reached its limit, and does nothing for "+t.Name)
		case verdict.Failed:
			s.Metrics.Erred("rule")
			if failed[e.Rule] {
				continue
			}
			failed[e.Rule] = true
			s.emit(t, corev1.EventTypeWarning, eventRuleFailed, fmt.Sprintf("rule %s for %s: %v", e.Rule, t.Name, e.Err))
		case verdict.Fired:
			s.fired(e)
		}
	}
}

// fired emits the Events about a rule that has fired.
func (s *session) fired(e verdict.Event) {
	rule := s.rule(e.Rule)
	if rule == nil {
		return
	}
	kind, text := corev1.EventTypeNormal, "rule "+e.Rule+" has fired for "+e.Target.Name
	if rule.Severity == v1alpha1.MonitorError {
		kind = corev1.EventTypeWarning
	}
	switch {
	case len(rule.Do) == 0:
	case s.m.Spec.DryRun:
		text += "; dry run: would do " + names(rule)
	default:
		text += ": " + names(rule)
	}
	s.emit(&e.Target, kind, eventFired, text)
}

// reportReactions emits an Event about reactions that have ended.
func (s *session) reportReactions(done *reacted) {
	t := &v1alpha1.MonitorTargetStatus{Name: done.firing.Target, UID: done.firing.UID}
	head := "rule " + done.firing.Rule + " for " + done.firing.Target + ": "
	if done.err != nil {
		s.emit(t, corev1.EventTypeWarning, eventFailed, head+done.failed+": "+done.err.Error())
		return
	}
	s.emit(t, corev1.EventTypeNormal, eventActed, head+strings.Join(done.done, "; "))
}

// emit emits an Event about the Monitor, about the Pod if the target is one, and about the instance that
// the Monitor is part of. Events that regard the same two objects are counted as one, so the Pod is the
// related object of the others.
func (s *session) emit(t *v1alpha1.MonitorTargetStatus, kind, reason, text string) {
	about := event.About(v1alpha1.GroupVersion.WithKind("Monitor"), s.m)
	emit := func(regarding, related runtime.Object, text string) {
		s.events.Eventf(regarding, related, kind, reason, "Monitor", "%s", event.Note(text))
		s.Metrics.Emitted(reason)
	}
	var related runtime.Object
	pod := s.pod(t)
	if pod != nil {
		related = pod
		emit(pod, about, "Monitor "+s.m.Name+": "+text)
	}
	emit(about, related, text)
	if s.known.instance != nil {
		emit(s.known.instance, related, "Monitor "+s.m.Name+": "+text)
	}
}

// pod returns the Pod that a target is, or nil.
func (s *session) pod(t *v1alpha1.MonitorTargetStatus) *corev1.Pod {
	if t == nil || t.UID == "" || s.m.Spec.Target == nil || s.m.Spec.Target.Pods == nil {
		return nil
	}
	return &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: s.m.Namespace, Name: t.Name, UID: types.UID(t.UID)},
	}
}
