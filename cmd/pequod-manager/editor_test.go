package main

import (
	"context"
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/pequod-io/pequod/test/harness"
)

// TestEditor has the role edit of Kubernetes, and only that: it writes instances, and of their status only what
// the manager doesn't write. In an API group of a platform's own it has no rights.
func TestEditor(t *testing.T) {
	t.Parallel()
	c, _ := deployed.Install(t)
	start(t, c)
	noted := strings.Replace(memoTransform, "        #Render:", "        #Status: note?: string\n        #Render:", 1)
	c.Apply(t, strings.Replace(noted, "  group: apps.example.com\n", "", 1))
	c.Apply(t, strings.NewReplacer("name: memo,", "name: other,", `"Memo"`, `"Other"`).Replace(memoTransform))
	c.Apply(t, `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: edit}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: edit}, subjects: [{kind: ServiceAccount, name: editor, namespace: `+c.Namespace+`}]}`)
	editor, err := dynamic.NewForConfig(c.ServiceAccount(t, c.Namespace, "editor"))
	if err != nil {
		t.Fatal(err)
	}
	c.Await(t, "pequod.io/v1alpha1", "Memo", c.Namespace)
	c.Await(t, "apps.example.com/v1alpha1", "Other", c.Namespace)
	memos := schema.GroupVersionResource{Group: "pequod.io", Version: "v1alpha1", Resource: "memos"}
	try := func(resource schema.GroupVersionResource, patch string, subresources ...string) error {
		body := `{"apiVersion": "` + resource.GroupVersion().String() + `", "kind": "Memo", "metadata": {"name": "m"}, ` + patch[1:]
		if resource.Resource == "others" {
			body = strings.Replace(body, "Memo", "Other", 1)
		}
		_, err := editor.Resource(resource).Namespace(c.Namespace).Patch(t.Context(), "m", types.ApplyPatchType, []byte(body), metav1.PatchOptions{FieldManager: "editor", Force: new(true)}, subresources...)
		return err
	}
	// The role is aggregated some time after the installation.
	harness.Eventually(t, patience, func(context.Context) error { return try(memos, `{"spec": {"text": "hello"}}`) })
	hasCondition(t, c, "pequod.io/v1alpha1", "Memo", c.Namespace, "m", "Ready", "True", "")

	forged := map[string]string{
		"conditions":             `[{"type": "Ready", "status": "False", "reason": "Forged", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]`,
		"firstFailure":           `{"node": "a"}`,
		"lastHandledReconcileAt": `"1"`,
		"module":                 `{"digest": "sha256:0"}`,
		"nodes":                  `{"total": 7, "ready": 7, "failed": 0}`,
		"observedGeneration":     `7`,
		"outputs":                `{"url": "https://example.com/"}`,
		"phase":                  `"Failed"`,
		"resourceGraphRef":       `{"name": "x", "namespace": "kube-system"}`,
	}
	crd, err := c.Dynamic.Resource(crds).Get(t.Context(), "memos.pequod.io", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	fields, _, _ := unstructured.NestedMap(versions[0].(map[string]any), "schema", "openAPIV3Schema", "properties", "status", "properties")
	if len(fields) != len(forged)+1 {
		t.Errorf("fields of the status: %v", fields)
	}
	// A policy is in force some time after it is stored.
	harness.Eventually(t, patience, func(context.Context) error {
		if err := try(memos, `{"status": {"phase": "Failed"}}`, "status"); !apierrors.IsForbidden(err) {
			return errors.Join(errors.New("the status was written"), err)
		}
		return nil
	})
	for field := range fields {
		value, manager := forged[field]
		if !manager {
			value = `"noted"`
		}
		err := try(memos, `{"status": {"`+field+`": `+value+`}}`, "status")
		if manager && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "pequod-manager writes the status of instances")) || !manager && err != nil {
			t.Errorf("%s: %v", field, err)
		}
	}
	if _, err := editor.Resource(memos).Namespace(c.Namespace).Patch(t.Context(), "m", types.MergePatchType, []byte(`{"status": null}`), metav1.PatchOptions{}, "status"); !apierrors.IsForbidden(err) {
		t.Errorf("removing the status: %v", err)
	}
	if err := try(memos, `{"spec": {"text": "changed"}}`); err != nil {
		t.Error(err)
	}
	hasCondition(t, c, "pequod.io/v1alpha1", "Memo", c.Namespace, "m", "Ready", "True", "")
	if note, _, _ := unstructured.NestedString(c.Get(t, "pequod.io/v1alpha1", "Memo", "m").Object, "status", "note"); note != "noted" {
		t.Errorf("note %q", note)
	}
	others := schema.GroupVersionResource{Group: "apps.example.com", Version: "v1alpha1", Resource: "others"}
	for _, err := range []error{try(others, `{"spec": {"text": "hello"}}`), try(others, `{"status": {"phase": "Ready"}}`, "status")} {
		if !apierrors.IsForbidden(err) {
			t.Errorf("another group: %v", err)
		}
	}
	if err := editor.Resource(memos).Namespace(c.Namespace).Delete(t.Context(), "m", metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
	harness.Eventually(t, patience, func(ctx context.Context) error {
		_, err := c.Dynamic.Resource(memos).Namespace(c.Namespace).Get(ctx, "m", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(errors.New("the instance isn't gone"), err)
	})
}
