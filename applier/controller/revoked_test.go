package controller_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/test/harness"
)

// An object in another namespace that carries the graph's labels is watched with the
// applier's own rights. When the account loses its rights there, the graph learns
// nothing more of the object, also while other nodes keep the graph busy. Neither does it
// of an object of another kind that it only reads, whose watch was opened as the account
// and outlives its rights.
func TestRevokedRightsEndReads(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	b.options.ReadTrust = time.Second
	other := b.Unique("other")
	if _, err := b.Client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: other}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Client.CoreV1().Namespaces().Delete(b.background(), other, metav1.DeleteOptions{}) })
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "pequod"}, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "admin"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: "pequod", Namespace: b.Namespace}},
	}
	if _, err := b.Client.RbacV1().RoleBindings(other).Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "ext"}, Spec: corev1.ServiceSpec{ClusterIP: "None"}}
	if _, err := b.Client.CoreV1().Services(other).Create(t.Context(), service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	b.start(b.Config)
	b.apply(b.rendered("web", `nodes:
- {id: ext, externalRef: {apiVersion: v1, kind: Service, name: ext, namespace: `+other+`}}
- {id: leak2, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: leak2}, data: {a: {$from: 'ext.metadata.?annotations.?value.orValue("none")'}}}}
- {id: far, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: far, namespace: `+other+`}, data: {kept: x}}}
- {id: leak, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: leak}, data: {a: {$from: 'far.data.?value.orValue("none")'}}}}
- {id: late, externalRef: {apiVersion: v1, kind: ConfigMap, name: late}}`))
	reads := func(value string) func(ctx) bool {
		return func(ctx ctx) bool { return b.data(ctx, "leak") == value && b.data(ctx, "leak2") == value }
	}
	b.eventually("read", reads("none"))
	write := func(value string) {
		t.Helper()
		_, err := b.Client.CoreV1().ConfigMaps(other).Patch(t.Context(), "far", types.MergePatchType,
			[]byte(`{"data":{"value":"`+value+`"}}`), metav1.PatchOptions{FieldManager: "somebody"})
		if err == nil {
			_, err = b.Client.CoreV1().Services(other).Patch(t.Context(), "ext", types.MergePatchType,
				[]byte(`{"metadata":{"annotations":{"value":"`+value+`"}}}`), metav1.PatchOptions{FieldManager: "somebody"})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write("allowed")
	b.eventually("read again", reads("allowed"))

	if err := b.Client.RbacV1().RoleBindings(other).Delete(t.Context(), "pequod", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	config := rest.CopyConfig(b.Config)
	config.Impersonate.UserName = "system:serviceaccount:" + b.Namespace + ":pequod"
	account, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, b.patience, func(ctx context.Context) error {
		if _, err := account.CoreV1().ConfigMaps(other).Get(ctx, "far", metav1.GetOptions{}); !apierrors.IsForbidden(err) {
			return fmt.Errorf("the account may still read: %v", err)
		}
		return nil
	})
	time.Sleep(2 * b.options.ReadTrust) // the trust ends
	write("revoked")
	b.until("web", func(rg *v1alpha1.ResourceGraph) error {
		for _, node := range []string{"far", "ext"} {
			if s := rg.Status.NodeStates[node]; s.Phase != v1alpha1.NodeFailed {
				return fmt.Errorf("node %s is %s", node, s.Phase)
			}
		}
		return nil
	})
	for _, leak := range []string{"leak", "leak2"} {
		if got := b.data(t.Context(), leak); got != "allowed" {
			t.Errorf("%s: the graph read %q with revoked rights", leak, got)
		}
	}

	// With the rights, it goes on.
	if _, err := b.Client.RbacV1().RoleBindings(other).Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, b.patience, func(ctx context.Context) error {
		write(b.Unique("x"))
		if b.data(ctx, "leak") == "allowed" || b.data(ctx, "leak2") == "allowed" {
			return errNotYet
		}
		return nil
	})
}
