package cause

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Reader lists objects of a namespace. Selectors are as in the API; an empty
// one selects everything.
type Reader interface {
	ListObjects(ctx context.Context, gvk schema.GroupVersionKind, namespace, labels, fields string) ([]unstructured.Unstructured, error)
}

// Find says why a live object isn't ready, or "" if nothing tells.
func Find(ctx context.Context, reader Reader, object *unstructured.Unstructured) (string, error) {
	var pods []unstructured.Unstructured
	var newest revision
	if selector := podSelector(object); selector != "" {
		var err error
		pods, err = reader.ListObjects(ctx, schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, object.GetNamespace(), selector, "")
		if err != nil {
			return "", fmt.Errorf("pods of %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		newest = revisionOf(ctx, reader, object, selector, pods)
	}
	line, ask := explain(object, newest, pods, nil)
	if ask == "" {
		return line, nil
	}
	namespace := object.GetNamespace()
	if namespace == "" {
		namespace = metav1.NamespaceDefault // where Events of what lies in no namespace are
	}
	events, err := reader.ListObjects(ctx, schema.GroupVersionKind{Version: "v1", Kind: "Event"}, namespace, "", "involvedObject.uid="+string(ask))
	switch {
	case err != nil && line != "":
		// The Events would only have added to what is known.
		return line, nil
	case err != nil:
		return "", fmt.Errorf("events of %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	line, _ = explain(object, newest, pods, events)
	return line, nil
}

// podSelector selects the Pods of a workload. It is "" for what has none, and
// for what is being deleted: then its Pods aren't the cause.
func podSelector(object *unstructured.Unstructured) string {
	if !isWorkload(object) || object.GetDeletionTimestamp() != nil {
		return ""
	}
	raw, _, err := unstructured.NestedMap(object.Object, "spec", "selector")
	if err != nil || len(raw) == 0 {
		return ""
	}
	var selector metav1.LabelSelector
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw, &selector); err != nil {
		return ""
	}
	// What the API server took can be read; what it didn't, has no Pods.
	parsed, err := metav1.LabelSelectorAsSelector(&selector)
	if err != nil {
		return ""
	}
	return parsed.String()
}

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
