package cause

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// eventLog answers questions about the Events of objects. It starts empty and
// remembers which Events were asked for, so that [Find] can list just these.
type eventLog struct {
	events []corev1.Event // newest first
	wanted types.UID      // the object whose Events were asked for last, "" if none
}

// newEventLog returns the log of a list of Events.
func newEventLog(objects []unstructured.Unstructured) *eventLog {
	var events []corev1.Event
	for i := range objects {
		var event corev1.Event
		if convert(&objects[i], &event) {
			events = append(events, event)
		}
	}
	slices.SortStableFunc(events, func(a, b corev1.Event) int { return lastSeen(b).Compare(lastSeen(a)) })
	return &eventLog{events: events}
}

// lastSeen returns the latest of the times that an Event has. The two Event APIs
// use different fields.
func lastSeen(e corev1.Event) time.Time {
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

// warning returns the reason and message of the newest warning about an object, ""
// if there is none. If the warning is about a failed creation of other objects and
// creationPrefix isn't empty, it returns the prefix and the API server's message.
func (l *eventLog) warning(uid types.UID, creationPrefix string) string {
	l.wanted = uid
	for _, event := range l.events {
		if event.InvolvedObject.UID != uid || event.Type != corev1.EventTypeWarning {
			continue
		}
		if creationPrefix != "" && strings.HasPrefix(event.Reason, "FailedCreate") {
			return creationPrefix + apiServerMessage(event.Message)
		}
		return event.Reason + ": " + event.Message
	}
	return ""
}

// apiServerMessage returns the part of a controller's message about a failed
// creation that the API server wrote.
func apiServerMessage(message string) string {
	message = strings.TrimPrefix(message, "(combined from similar events): ")
	if _, rest, ok := strings.Cut(message, " failed error: "); ok { // of a StatefulSet
		return rest
	}
	return strings.TrimPrefix(message, "Error creating: ")
}

// withReason returns the reason and message of the newest Event about an object
// that has one of the reasons, "" if there is none.
func (l *eventLog) withReason(uid types.UID, reasons ...string) string {
	for _, event := range l.events {
		if event.InvolvedObject.UID == uid && slices.Contains(reasons, event.Reason) {
			return event.Reason + ": " + event.Message
		}
	}
	return ""
}

// detail returns what the Events of a Pod add to its cause, beginning with ": ",
// or "".
func (l *eventLog) detail(c podCause) string {
	if len(c.eventReasons) == 0 {
		return ""
	}
	l.wanted = c.uid
	for _, event := range l.events {
		if event.InvolvedObject.UID != c.uid || event.Type != corev1.EventTypeWarning || !slices.Contains(c.eventReasons, event.Reason) {
			continue
		}
		if message := c.eventDetail(event.Message); message != "" {
			return ": " + message
		}
	}
	return ""
}

// trueCondition returns the message of a condition if its status is True, and ""
// otherwise.
func trueCondition(object *unstructured.Unstructured, kind string) string {
	list, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, entry := range list {
		m, _ := entry.(map[string]any)
		if m["type"] == kind && m["status"] == "True" {
			message, _ := m["message"].(string)
			return message
		}
	}
	return ""
}

// stringField returns a string field of an object, "" if it has none.
func stringField(object *unstructured.Unstructured, path ...string) string {
	s, _, _ := unstructured.NestedString(object.Object, path...)
	return s
}

// convert converts an object to a typed one and reports whether that succeeded. An
// object that doesn't fit its type was never validated, and no cause can be read
// from it.
func convert(object *unstructured.Unstructured, into any) bool {
	return runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, into) == nil
}

// isWorkload reports whether an object is of a built-in kind that creates Pods and
// selects them by labels.
func isWorkload(object *unstructured.Unstructured) bool {
	switch object.GroupVersionKind().GroupKind() {
	case schema.GroupKind{Group: "apps", Kind: "Deployment"},
		schema.GroupKind{Group: "apps", Kind: "ReplicaSet"},
		schema.GroupKind{Group: "apps", Kind: "StatefulSet"},
		schema.GroupKind{Group: "apps", Kind: "DaemonSet"},
		schema.GroupKind{Group: "batch", Kind: "Job"}:
		return true
	}
	return false
}
