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

// The labels and the annotation in which Kubernetes records revisions.
const (
	labelTemplateHash  = "pod-template-hash"                 // on Pods and ReplicaSets of a Deployment
	labelRevision      = "controller-revision-hash"          // on Pods of a StatefulSet
	annotationRevision = "deployment.kubernetes.io/revision" // on ReplicaSets of a Deployment
)

// revision identifies the Pods of one revision of a workload by the value of a
// label. The zero value is an unknown revision.
type revision struct{ label, value string }

// known reports whether the revision could be found out.
func (r revision) known() bool { return r.value != "" }

// includes reports whether a Pod belongs to the revision.
func (r revision) includes(pod *corev1.Pod) bool { return pod.Labels[r.label] == r.value }

// newestRevision returns the newest revision of a workload, which is unknown for
// kinds without revisions. selector selects its Pods, which are passed too.
//
// The newest revision of a Deployment is recorded in its ReplicaSets. They are read
// only if its Pods may belong to several revisions. The newest Pod wouldn't do: Pods
// of older revisions are recreated during a rollout, and creation times have a
// resolution of one second.
func newestRevision(ctx context.Context, reader Reader, object *unstructured.Unstructured, selector string, pods []unstructured.Unstructured) revision {
	switch object.GetKind() {
	case "StatefulSet":
		return revision{labelRevision, stringField(object, "status", "updateRevision")}
	case "Deployment":
	default:
		return revision{}
	}
	if !mayHaveSeveralRevisions(object, pods) {
		return revision{}
	}
	sets, err := reader.ListObjects(ctx, schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSet"}, object.GetNamespace(), selector, "")
	if err != nil {
		// The identity may lack the right to list ReplicaSets. The newest Pod
		// decides then, which is right most of the time.
		return revision{}
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

// mayHaveSeveralRevisions reports whether some Pods of a Deployment may belong to
// an older revision.
func mayHaveSeveralRevisions(object *unstructured.Unstructured, pods []unstructured.Unstructured) bool {
	replicas, _, _ := unstructured.NestedInt64(object.Object, "status", "replicas")
	updated, _, _ := unstructured.NestedInt64(object.Object, "status", "updatedReplicas")
	return updated != replicas || slices.ContainsFunc(pods, func(pod unstructured.Unstructured) bool {
		return pod.GetLabels()[labelTemplateHash] != pods[0].GetLabels()[labelTemplateHash]
	})
}

// revisionOfNewestPod returns the revision of the Pod that was created last.
func revisionOfNewestPod(pods []corev1.Pod) revision {
	r := revision{label: labelTemplateHash}
	var newest metav1.Time
	for i := range pods {
		if created := pods[i].CreationTimestamp; r.value == "" || newest.Before(&created) {
			newest, r.value = created, pods[i].Labels[labelTemplateHash]
		}
	}
	return r
}
