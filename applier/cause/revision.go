package cause

import (
	"context"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The labels by which Pods tell the revision of their workload, and the
// annotation by which ReplicaSets do.
const (
	labelTemplateHash  = "pod-template-hash"
	labelRevision      = "controller-revision-hash"
	annotationRevision = "deployment.kubernetes.io/revision"
)

// revision is what the Pods of a workload's newest revision carry: the value of
// a label. The zero value is one that isn't known.
type revision struct{ label, value string }

func (r revision) known() bool { return r.value != "" }

func (r revision) of(pod *corev1.Pod) bool { return pod.Labels[r.label] == r.value }

// revisionOf finds out what the newest Pods of a workload carry. Of a Deployment
// its ReplicaSets tell, which are read only if its Pods may be of several: that
// of the newest Pod isn't always the newest, since Pods that go are replaced, and
// times are whole seconds.
func revisionOf(ctx context.Context, reader Reader, object *unstructured.Unstructured, selector string, pods []unstructured.Unstructured) revision {
	switch object.GetKind() {
	case "StatefulSet":
		return revision{labelRevision, text(object, "status", "updateRevision")}
	case "Deployment":
	default:
		return revision{}
	}
	if !severalRevisions(object, pods) {
		return revision{}
	}
	sets, err := reader.ListObjects(ctx, schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSet"}, object.GetNamespace(), selector, "")
	if err != nil {
		return revision{} // it may be forbidden to look at them: the newest Pod tells then
	}
	newest := -1
	r := revision{label: labelTemplateHash}
	for i := range sets {
		controller := metav1.GetControllerOf(&sets[i])
		number, err := strconv.Atoi(sets[i].GetAnnotations()[annotationRevision])
		if err == nil && number > newest && controller != nil && controller.UID == object.GetUID() {
			newest, r.value = number, sets[i].GetLabels()[labelTemplateHash]
		}
	}
	return r
}

// severalRevisions says whether some Pods of a Deployment may not be of its
// newest revision.
func severalRevisions(object *unstructured.Unstructured, pods []unstructured.Unstructured) bool {
	replicas, _, _ := unstructured.NestedInt64(object.Object, "status", "replicas")
	updated, _, _ := unstructured.NestedInt64(object.Object, "status", "updatedReplicas")
	return updated != replicas || slices.ContainsFunc(pods, func(pod unstructured.Unstructured) bool {
		return pod.GetLabels()[labelTemplateHash] != pods[0].GetLabels()[labelTemplateHash]
	})
}
