package cause

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/applier/readiness"
	"github.com/pequod-io/pequod/internal/source"
)

// explain returns what [Find] returns. newest is the newest revision of a workload, pods
// are the Pods that it selects, and events are Events of the object or of one of its Pods.
//
// If events is empty and Events could improve the line, wanted is the UID of the
// object whose Events are needed.
func explain(object *unstructured.Unstructured, newest revision, pods, events []unstructured.Unstructured, now time.Time) (found readiness.Verdict, wanted types.UID) {
	e := explainer{object: object, newest: newest, events: newEventLog(events), now: now}
	for i := range pods {
		var pod corev1.Pod
		if convert(&pods[i], &pod) && e.controls(&pod) {
			e.pods = append(e.pods, pod)
		}
	}
	line := source.OneLine(e.explain(), maxLine)
	found = readiness.Verdict{State: e.state, Message: line}
	if len(events) > 0 {
		return found, ""
	}
	return found, e.events.wanted
}

// explainer has everything that is known about one object.
type explainer struct {
	object *unstructured.Unstructured
	newest revision     // of the object's Pods; unknown if the caller couldn't tell
	pods   []corev1.Pod // the Pods that the object controls
	events *eventLog    // empty in the first of two passes, see Find
	now    time.Time
	state  readiness.State // what explain found out besides the line
}

// explain chooses the source of the line by the kind of the object: workloads and
// Pods are explained by the status of their Pods, every other object by the newest
// warning about it.
func (e *explainer) explain() string {
	kind := e.object.GetKind()
	core := e.object.GetAPIVersion() == "v1"
	switch {
	case e.object.GetDeletionTimestamp() != nil:
		return explainDeletion(e.object)
	case isWorkload(e.object):
		return e.explainWorkload()
	case core && kind == "Pod":
		var pod corev1.Pod
		if !convert(e.object, &pod) {
			return ""
		}
		c := causeOfPod(&pod)
		e.judge(c)
		return c.text + e.events.detail(c)
	case Decides(e.object):
		return e.explainClaim()
	}
	return e.events.warning(e.object.GetUID(), "")
}

// explainWorkload looks for a cause in this order: Pods that can't become ready,
// Pods that can't be created, Pods that aren't ready yet.
func (e *explainer) explainWorkload() string {
	if paused, _, _ := unstructured.NestedBool(e.object.Object, "spec", "paused"); paused {
		return "is paused"
	}
	best, count := mostInformative(e.currentPods())
	e.judge(best)
	if best.rank >= rankStarting {
		if message := trueCondition(e.object, "ReplicaFailure"); message != "" {
			return "pods can't be created: " + message
		}
	}
	if best.rank == rankNone {
		return e.events.warning(e.object.GetUID(), "pods can't be created: ")
	}
	return best.line(count, e.events.detail(best))
}

// degradedAfter is the age at which a Pod that fails makes its workload degraded. Until
// then it may only wait for something that is started at the same time.
const degradedAfter = 30 * time.Second

// judge sets the state by the cause of the Pods.
func (e *explainer) judge(c podCause) {
	if c.rank <= rankCrash && e.now.Sub(c.created) >= degradedAfter {
		e.state = readiness.Degraded
	}
}

// currentPods returns the Pods of the newest revision that aren't being deleted. If
// all of these are ready, it returns the Pods of all revisions of a StatefulSet,
// which replaces Pods one by one and waits until the others are ready.
func (e *explainer) currentPods() []corev1.Pod {
	alive := slices.DeleteFunc(slices.Clone(e.pods), func(pod corev1.Pod) bool { return pod.DeletionTimestamp != nil })
	newest := e.newest
	if !newest.known() && e.object.GetKind() == "Deployment" {
		newest = revisionOfNewestPod(alive)
	}
	if !newest.known() {
		return alive
	}
	current := slices.DeleteFunc(slices.Clone(alive), func(pod corev1.Pod) bool { return !newest.includes(&pod) })
	if best, _ := mostInformative(current); best.rank == rankNone && e.object.GetKind() == "StatefulSet" {
		return alive
	}
	return current
}

// controls reports whether the workload controls a Pod that it selects: the
// selectors of two workloads may overlap. A Deployment controls its Pods through a
// ReplicaSet, whose name is the Deployment's with a hash.
func (e *explainer) controls(pod *corev1.Pod) bool {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		return false
	}
	if e.object.GetKind() == "Deployment" {
		hash, ok := strings.CutPrefix(owner.Name, e.object.GetName()+"-")
		return owner.Kind == "ReplicaSet" && ok && !strings.Contains(hash, "-")
	}
	return owner.UID == e.object.GetUID()
}

// explainDeletion returns what delays the deletion of an object: for a Namespace
// its conditions, for any other object its finalizers.
func explainDeletion(object *unstructured.Unstructured) string {
	if object.GetKind() == "Namespace" && object.GetAPIVersion() == "v1" {
		var parts []string
		for _, kind := range []corev1.NamespaceConditionType{
			corev1.NamespaceDeletionDiscoveryFailure, corev1.NamespaceDeletionGVParsingFailure, corev1.NamespaceDeletionContentFailure,
			corev1.NamespaceFinalizersRemaining, corev1.NamespaceContentRemaining,
		} {
			if message := trueCondition(object, string(kind)); message != "" {
				parts = append(parts, message)
			}
		}
		if len(parts) > 0 {
			return "is being deleted: " + strings.Join(parts, "; ")
		}
	}
	return readiness.DeletionMessage(object.GetFinalizers())
}
