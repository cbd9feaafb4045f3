package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestPredecessors(t *testing.T) {
	for _, test := range []struct {
		manager, group string
		want           bool
	}{
		{"kubectl-client-side-apply", "", true},
		{"kubectl-edit", "", false},
		{"kube-controller-manager", "apps", false},
		{"kustomize-controller", "apps", true},
		{"kustomize-controller", "kustomize.toolkit.fluxcd.io", false},
		{"gotk-kustomize-controller", "apps", false},
		{"helm-controller", "helm.toolkit.fluxcd.io", false},
		{"argocd-application-controller", "apps", true},
		{"argocd-application-controller", "argoproj.io", false},
		{"pulumi-kubernetes-1a2b", "apps", true},
	} {
		if got := predecessorsOf(test.group)(test.manager); got != test.want {
			t.Errorf("%s in group %q: %t, want %t", test.manager, test.group, got, test.want)
		}
	}
}

func TestTakeOver(t *testing.T) {
	entry := func(manager, operation, subresource, set string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{
			Manager: manager, Operation: metav1.ManagedFieldsOperationType(operation), Subresource: subresource,
			APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(set),
		}
	}
	var (
		kubectl = entry("kubectl", "Update", "", `{"f:data":{"f:a":{}}}`)
		helm    = entry("helm", "Apply", "", `{"f:data":{".":{},"f:b":{}}}`)
		other   = entry("other", "Apply", "", `{"f:data":{"f:c":{}}}`)
		own     = entry("pequod", "Apply", "", `{"f:data":{"f:d":{}}}`)
		status  = entry("pequod", "Apply", "status", `{"f:status":{"f:e":{}}}`)
		scaled  = entry("kubectl", "Update", "scale", `{"f:spec":{"f:replicas":{}}}`)
	)
	type entries = []metav1.ManagedFieldsEntry
	for name, test := range map[string]struct {
		before, after entries
		changed       bool
	}{
		"nothing to move":      {entries{other, own, status}, entries{other, own, status}, false},
		"to a new entry":       {entries{kubectl, helm, other}, entries{other, entry("pequod", "Apply", "", `{"f:data":{".":{},"f:a":{},"f:b":{}}}`)}, true},
		"to an existing entry": {entries{kubectl, own, other}, entries{other, entry("pequod", "Apply", "", `{"f:data":{"f:a":{},"f:d":{}}}`)}, true},
		"not to a subresource": {entries{kubectl, status, scaled}, entries{status, scaled, entry("pequod", "Apply", "", `{"f:data":{"f:a":{}}}`)}, true},
	} {
		obj := &unstructured.Unstructured{Object: map[string]any{}}
		obj.SetManagedFields(test.before)
		changed, err := takeOver(obj, "pequod", predecessorsOf(""))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.after, obj.GetManagedFields()); diff != "" || changed != test.changed {
			t.Errorf("%s: changed %t (-want +got):\n%s", name, changed, diff)
		}
	}
}
