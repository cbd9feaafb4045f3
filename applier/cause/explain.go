package cause

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/internal/source"
)

// maxLine bounds a line, which holds what controllers and kubelets wrote.
const maxLine = 300

// explain says why a live object isn't ready, given its Pods, what the newest
// of them carry, and Events of it or of one of its Pods. If Events would tell
// more, ask is the UID of the object whose Events.
func explain(object *unstructured.Unstructured, newest revision, pods, events []unstructured.Unstructured) (line string, ask types.UID) {
	e := explainer{object: object, revision: newest, events: eventsOf(events)}
	for i := range pods {
		var pod corev1.Pod
		if convert(&pods[i], &pod) && e.owns(&pod) {
			e.pods = append(e.pods, pod)
		}
	}
	line = source.OneLine(e.explain(), maxLine)
	if len(events) > 0 {
		return line, ""
	}
	return line, e.ask
}

type explainer struct {
	object   *unstructured.Unstructured
	revision revision
	pods     []corev1.Pod
	events   []corev1.Event
	ask      types.UID
}

func (e *explainer) explain() string {
	kind := e.object.GetKind()
	core := e.object.GetAPIVersion() == "v1"
	switch {
	case e.object.GetDeletionTimestamp() != nil:
		return deletion(e.object)
	case isWorkload(e.object):
		return e.workload()
	case core && kind == "Pod":
		var pod corev1.Pod
		if !convert(e.object, &pod) {
			return ""
		}
		t := judge(&pod)
		return t.text + e.detail(t)
	case core && kind == "PersistentVolumeClaim":
		if text(e.object, "status", "phase") == "Bound" {
			return ""
		}
		if line := e.newest(e.object.GetUID(), ""); line != "" {
			return line
		}
		return e.newestNormal("WaitForFirstConsumer", "ExternalProvisioning", "Provisioning")
	}
	return e.newest(e.object.GetUID(), "")
}

// workload looks at the Pods that are in trouble, then at why there are too few
// of them, then at those that are merely not ready.
func (e *explainer) workload() string {
	if paused, _, _ := unstructured.NestedBool(e.object.Object, "spec", "paused"); paused {
		return "is paused"
	}
	worst, alike := worstOf(e.current())
	if worst.rank >= weak {
		if message := condition(e.object, "ReplicaFailure"); message != "" {
			return "pods can't be created: " + message
		}
	}
	if worst.rank == none {
		return e.newest(e.object.GetUID(), "pods can't be created: ")
	}
	return worst.line(alike, e.detail(worst))
}

// current leaves out the Pods that are being deleted and those of older
// revisions. The Pods of an older revision of a StatefulSet count where the new
// ones are in order: they are replaced one by one, each when the others are ready.
func (e *explainer) current() []corev1.Pod {
	alive := slices.DeleteFunc(slices.Clone(e.pods), func(pod corev1.Pod) bool { return pod.DeletionTimestamp != nil })
	newest := e.revision
	if !newest.known() && e.object.GetKind() == "Deployment" {
		newest = newestOf(alive)
	}
	if !newest.known() {
		return alive
	}
	current := slices.DeleteFunc(slices.Clone(alive), func(pod corev1.Pod) bool { return !newest.of(&pod) })
	if worst, _ := worstOf(current); worst.rank == none && e.object.GetKind() == "StatefulSet" {
		return alive
	}
	return current
}

// newestOf is the revision of the Pod that was made last.
func newestOf(pods []corev1.Pod) revision {
	r := revision{label: labelTemplateHash}
	var made metav1.Time
	for i := range pods {
		if at := pods[i].CreationTimestamp; r.value == "" || made.Before(&at) {
			made, r.value = at, pods[i].Labels[labelTemplateHash]
		}
	}
	return r
}

// owns says whether a Pod that the workload selects is its own: selectors of
// two workloads may overlap.
func (e *explainer) owns(pod *corev1.Pod) bool {
	for _, owner := range pod.OwnerReferences {
		if owner.Controller == nil || !*owner.Controller {
			continue
		}
		if e.object.GetKind() == "Deployment" {
			return owner.Kind == "ReplicaSet" && strings.HasPrefix(owner.Name, e.object.GetName()+"-") &&
				!strings.Contains(owner.Name[len(e.object.GetName())+1:], "-")
		}
		return owner.UID == e.object.GetUID()
	}
	return false
}

// deletion says what holds an object that is being deleted.
func deletion(object *unstructured.Unstructured) string {
	if object.GetKind() == "Namespace" && object.GetAPIVersion() == "v1" {
		var parts []string
		for _, kind := range []string{
			string(corev1.NamespaceDeletionDiscoveryFailure), string(corev1.NamespaceDeletionGVParsingFailure),
			string(corev1.NamespaceDeletionContentFailure),
			string(corev1.NamespaceFinalizersRemaining), string(corev1.NamespaceContentRemaining),
		} {
			if message := condition(object, kind); message != "" {
				parts = append(parts, message)
			}
		}
		if len(parts) > 0 {
			return "is being deleted: " + strings.Join(parts, "; ")
		}
	}
	finalizers := object.GetFinalizers()
	switch len(finalizers) {
	case 0:
		return "is being deleted"
	case 1:
		return "is being deleted; held by finalizer " + finalizers[0]
	}
	return "is being deleted; held by finalizers " + strings.Join(finalizers, ", ")
}

// condition returns the message of a condition that is true.
func condition(object *unstructured.Unstructured, kind string) string {
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

func text(object *unstructured.Unstructured, path ...string) string {
	s, _, _ := unstructured.NestedString(object.Object, path...)
	return s
}

// convert reports whether an object has the shape of its type. One that hasn't
// was never validated, and tells nothing.
func convert(object *unstructured.Unstructured, into any) bool {
	return runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, into) == nil
}
