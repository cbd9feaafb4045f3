package readiness

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/internal/jsonvalue"
)

// deletionVerdict returns the verdict on an object that is being deleted, and
// false for any other object.
func deletionVerdict(object *unstructured.Unstructured) (Verdict, bool) {
	deleted, _ := jsonvalue.Field(object.Object, "metadata", "deletionTimestamp").(string)
	if deleted == "" {
		return Verdict{}, false
	}
	return progressing("%s", DeletionMessage(object.GetFinalizers())), true
}

// DeletionMessage describes what an object with these finalizers, which is being
// deleted, waits for.
func DeletionMessage(finalizers []string) string {
	text := "is being deleted"
	var holders []string
	for _, name := range finalizers {
		switch name {
		case metav1.FinalizerDeleteDependents:
			text += ", after its dependents"
		case metav1.FinalizerOrphanDependents:
		default:
			holders = append(holders, name)
		}
	}
	if len(holders) > 0 {
		text += ", held by finalizer " + strings.Join(holders, ", ")
	}
	return text
}

// staleGeneration returns the generation of an object and whether its controller
// wrote the status for an older one. A status without observedGeneration is never
// stale.
func staleGeneration(object *unstructured.Unstructured) (generation int64, stale bool) {
	generation, _ = jsonvalue.Field(object.Object, "metadata", "generation").(int64)
	observed, ok := jsonvalue.Field(object.Object, "status", "observedGeneration").(int64)
	return generation, ok && observed < generation
}

// condition is an entry of status.conditions. It also serves for other pairs of
// reason and message.
type condition struct {
	kind, status, reason, message string
	stale                         bool // written for an older generation
}

// conditionOf returns the condition of a type, and false if the object has none.
func conditionOf(object *unstructured.Unstructured, kind string) (condition, bool) {
	list, _ := jsonvalue.Field(object.Object, "status", "conditions").([]any)
	for _, entry := range list {
		m, _ := entry.(map[string]any)
		if m["type"] != kind {
			continue
		}
		c := condition{kind: kind}
		c.status, _ = m["status"].(string)
		c.reason, _ = m["reason"].(string)
		c.message, _ = m["message"].(string)
		if observed, ok := m["observedGeneration"].(int64); ok {
			generation, _ := jsonvalue.Field(object.Object, "metadata", "generation").(int64)
			c.stale = observed < generation
		}
		return c, true
	}
	return condition{}, false
}

// because returns the cause that the condition states, in a form that can be
// appended to a message: ": ", the reason and the message. The reason is left out
// if the message begins with it.
func (c condition) because() string {
	switch {
	case c.reason == "" && c.message == "":
		return ""
	case c.message == "":
		return ": " + c.reason
	case c.reason == "" || strings.HasPrefix(c.message, c.reason):
		return ": " + c.message
	}
	return ": " + c.reason + ": " + c.message
}

// String returns the condition as a clause: condition Ready is False: Reason: message.
func (c condition) String() string {
	status := c.status
	if status == "" {
		status = "without status"
	}
	return "condition " + c.kind + " is " + status + c.because()
}

// intField returns an integer field of an object, or fallback if the object
// doesn't have it.
func intField(object *unstructured.Unstructured, fallback int64, path ...string) int64 {
	if n, ok := jsonvalue.Field(object.Object, path...).(int64); ok {
		return n
	}
	return fallback
}

// availableText returns how many replicas of a Deployment are available, in a form
// that can be appended to a message.
func availableText(object *unstructured.Unstructured) string {
	want := intField(object, 1, "spec", "replicas")
	return fmt.Sprintf(": %d of %s available", intField(object, 0, "status", "availableReplicas"), replicasText(want))
}

// replicasText returns a number of replicas with its noun.
func replicasText(n int64) string {
	if n == 1 {
		return "1 replica"
	}
	return fmt.Sprintf("%d replicas", n)
}
