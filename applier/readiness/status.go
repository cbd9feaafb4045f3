package readiness

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func beingDeleted(object *unstructured.Unstructured) (Verdict, bool) {
	deleted, _ := field(object.Object, "metadata", "deletionTimestamp").(string)
	if deleted == "" {
		return Verdict{}, false
	}
	switch finalizers := object.GetFinalizers(); len(finalizers) {
	case 0:
		return progressing("is being deleted"), true
	case 1:
		return progressing("is being deleted; held by finalizer %s", finalizers[0]), true
	default:
		return progressing("is being deleted; held by finalizers %s", strings.Join(finalizers, ", ")), true
	}
}

// staleStatus says whether the controller wrote the status for an older
// generation. A status that doesn't say for which is taken as it is.
func staleStatus(object *unstructured.Unstructured) (generation int64, stale bool) {
	generation, _ = field(object.Object, "metadata", "generation").(int64)
	observed, ok := field(object.Object, "status", "observedGeneration").(int64)
	return generation, ok && observed < generation
}

// condition is an entry of status.conditions.
type condition struct {
	kind, status, reason, message string
	stale                         bool
}

// conditionOf returns the condition of a type, and false if there is none.
func conditionOf(object *unstructured.Unstructured, kind string) (condition, bool) {
	list, _ := field(object.Object, "status", "conditions").([]any)
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
			generation, _ := field(object.Object, "metadata", "generation").(int64)
			c.stale = observed < generation
		}
		return c, true
	}
	return condition{}, false
}

// because is the part of a message that says why: reason and message, where
// the message doesn't begin with the reason anyway.
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

func (c condition) String() string {
	status := c.status
	if status == "" {
		status = "without status"
	}
	return "condition " + c.kind + " is " + status + c.because()
}

// field reads a field without copying it, nil where there is none.
func field(object map[string]any, path ...string) any {
	var v any = object
	for _, key := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[key]
	}
	return v
}

func number(object *unstructured.Unstructured, otherwise int64, path ...string) int64 {
	if n, ok := field(object.Object, path...).(int64); ok {
		return n
	}
	return otherwise
}
