package cause

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
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

// Decides reports whether [Find] may find out that an object of this kind is ready: that it
// is a PersistentVolumeClaim.
func Decides(object *unstructured.Unstructured) bool {
	return object.GroupVersionKind().GroupKind() == schema.GroupKind{Kind: "PersistentVolumeClaim"}
}

// unknownBinding is said of a claim whose Events can't be listed, before the error.
const unknownBinding = "if its StorageClass has WaitForFirstConsumer, add readyWhen: [{type: Exists}] to its node; the claim's Events would tell, but can't be listed: "

// explainClaim returns why a claim isn't bound. The claim is ready if its StorageClass has
// the volumeBindingMode WaitForFirstConsumer: it is bound only after a Pod that uses it was
// scheduled, so whatever waits for the claim would wait for ever.
//
// Few accounts may get StorageClasses, which have no namespace. So the state is decided by
// Events: the controller of volumes emits one of these two for each claim with
// that mode, and repeats them while no Pod was scheduled. Afterwards, the claim has an
// annotation that package readiness reads.
func (e *explainer) explainClaim() string {
	uid := e.object.GetUID()
	if stringField(e.object, "status", "phase") == string(corev1.ClaimBound) {
		return ""
	}
	waits := e.events.withReason(uid, "WaitForFirstConsumer", "WaitForPodScheduled")
	if waits != "" && stringField(e.object, "status", "phase") == string(corev1.ClaimPending) {
		e.state = readiness.Ready
		return readiness.FirstConsumer
	}
	if line := e.events.warning(uid, ""); line != "" {
		return line
	}
	return e.events.withReason(uid, "FailedBinding", "ExternalProvisioning", "Provisioning")
}
