package cause

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// eventsOf returns the Events, the newest first.
func eventsOf(objects []unstructured.Unstructured) []corev1.Event {
	var events []corev1.Event
	for i := range objects {
		var event corev1.Event
		if convert(&objects[i], &event) {
			events = append(events, event)
		}
	}
	slices.SortStableFunc(events, func(a, b corev1.Event) int { return seen(b).Compare(seen(a)) })
	return events
}

func seen(e corev1.Event) time.Time {
	last := e.CreationTimestamp.Time
	if e.LastTimestamp.After(last) {
		last = e.LastTimestamp.Time
	}
	if e.EventTime.After(last) {
		last = e.EventTime.Time
	}
	if e.Series != nil && e.Series.LastObservedTime.After(last) {
		last = e.Series.LastObservedTime.Time
	}
	return last
}

// newest returns what the newest warning about an object says: its message
// after a prefix if it is about the creation of others, else its reason and message.
func (e *explainer) newest(uid types.UID, creation string) string {
	e.ask = uid
	for _, event := range e.events {
		if event.InvolvedObject.UID != uid || event.Type != corev1.EventTypeWarning {
			continue
		}
		if creation != "" && strings.HasPrefix(event.Reason, "FailedCreate") {
			return creation + refusal(event.Message)
		}
		return event.Reason + ": " + event.Message
	}
	return ""
}

// refusal leaves of a controller's message what the API server said.
func refusal(message string) string {
	message = strings.TrimPrefix(message, "(combined from similar events): ")
	if _, rest, ok := strings.Cut(message, " failed error: "); ok { // of a StatefulSet
		return rest
	}
	return strings.TrimPrefix(message, "Error creating: ")
}

// newestNormal returns the message of the newest Event that has one of the
// reasons.
func (e *explainer) newestNormal(reasons ...string) string {
	for _, event := range e.events {
		if event.InvolvedObject.UID == e.object.GetUID() && slices.Contains(reasons, event.Reason) {
			return event.Reason + ": " + event.Message
		}
	}
	return ""
}

// detail is what the Events of a Pod add to its trouble.
func (e *explainer) detail(t trouble) string {
	if len(t.reasons) == 0 {
		return ""
	}
	e.ask = t.uid
	for _, event := range e.events {
		if event.InvolvedObject.UID != t.uid || event.Type != corev1.EventTypeWarning || !slices.Contains(t.reasons, event.Reason) {
			continue
		}
		if message := t.trim(event.Message); message != "" {
			return ": " + message
		}
	}
	return ""
}
