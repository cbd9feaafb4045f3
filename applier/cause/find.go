package cause

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/applier/readiness"
)

// Reader lists objects of a namespace. Selectors are written as in the API; an
// empty selector selects everything. The first page is enough.
type Reader interface {
	ListObjects(ctx context.Context, gvk schema.GroupVersionKind, namespace, labelSelector, fieldSelector string) ([]unstructured.Unstructured, error)
}

// Find returns why a live object isn't ready. The message is "" if no cause is found, and
// the state is "" unless it is another one than that of the object's own status. Now is
// compared with times of the cluster. An error means that Pods or Events couldn't be
// listed.
//
// Events are listed only if the Pods don't tell everything. If they can't be
// listed, the cause that the Pods tell is returned without an error.
func Find(ctx context.Context, reader Reader, object *unstructured.Unstructured, now time.Time) (readiness.Verdict, error) {
	// Explain twice: without Events, to find out whose Events are needed, and then
	// with them.
	var pods []unstructured.Unstructured
	var newest revision
	if selector := podSelector(object); selector != "" {
		var err error
		pods, err = reader.ListObjects(ctx, schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, object.GetNamespace(), selector, "")
		if err != nil {
			return readiness.Verdict{}, fmt.Errorf("pods of %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		newest = newestRevision(ctx, reader, object, selector, pods)
	}
	found, wanted := explain(object, newest, pods, nil, now)
	if wanted == "" {
		return found, nil
	}
	namespace := object.GetNamespace()
	if namespace == "" {
		namespace = metav1.NamespaceDefault // has the Events of cluster-scoped objects
	}
	events, err := reader.ListObjects(ctx, schema.GroupVersionKind{Version: "v1", Kind: "Event"}, namespace, "", "involvedObject.uid="+string(wanted))
	switch {
	case err != nil && Decides(object):
		return readiness.Verdict{Message: unknownBinding + err.Error()}, nil
	case err != nil && found.Message != "":
		return found, nil
	case err != nil:
		return readiness.Verdict{}, fmt.Errorf("events of %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	found, _ = explain(object, newest, pods, events, now)
	return found, nil
}

// podSelector returns the selector for the Pods of a workload. It returns "" for
// objects without Pods, and for an object that is being deleted, whose Pods aren't
// the cause.
func podSelector(object *unstructured.Unstructured) string {
	if !isWorkload(object) || object.GetDeletionTimestamp() != nil {
		return ""
	}
	raw, _, err := unstructured.NestedMap(object.Object, "spec", "selector")
	if err != nil || len(raw) == 0 {
		return ""
	}
	// The API server has validated the selector of an object that it stores. If
	// the selector can't be read, the object was never stored and has no Pods.
	var selector metav1.LabelSelector
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw, &selector); err != nil {
		return ""
	}
	parsed, err := metav1.LabelSelectorAsSelector(&selector)
	if err != nil {
		return ""
	}
	return parsed.String()
}
