package cause

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

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
