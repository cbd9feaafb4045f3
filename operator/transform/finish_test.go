package transform_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/harness"
)

// gone waits until a Transform doesn't exist.
func (b *env) gone(name string) {
	b.t.Helper()
	harness.Eventually(b.t, patience, func(ctx context.Context) error {
		t := &v1alpha1.Transform{}
		err := b.client.Get(ctx, types.NamespacedName{Namespace: b.Namespace, Name: name}, t)
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("it exists: %v; conditions %v", err, conditions(t))
		}
		return nil
	})
}

// TestDelete deletes a Transform with instances: it waits for them, also while the manager is
// restarted, and then removes all that it made.
func TestDelete(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.create(b.transform("app", b.appModule(`text: string`)))
	b.ready("app")
	one, two := b.Apply(t, b.instance("one"))[0], b.Apply(t, b.instance("two"))[0]
	graph := b.graph("one", "sha256:0")
	b.create(graph)
	if err := b.client.Delete(t.Context(), b.transform("app", "")); err != nil {
		t.Fatal(err)
	}
	waits := func(text string) {
		t.Helper()
		b.blocked("app", "Ready", "InstancesExist", text)
	}
	waits("2 instances of App exist in 1 namespaces: delete them, or set spec.crdDeletionPolicy to Orphan")
	b.event("app", "InstancesExist", "2 instances of App exist")
	if err := b.client.Delete(t.Context(), one); err != nil {
		t.Fatal(err)
	}
	waits("1 instance of App exists")
	// The instance that is left is still reconciled, whether or not the sources were kept.
	b.stop()
	b.start(b.Config)
	waits("1 instance of App exists")
	harness.Eventually(t, patience, b.listed)
	b.stop()
	before := b.fetcher.count()
	if err := b.client.DeleteAllOf(t.Context(), &appsv1.ControllerRevision{}, client.InNamespace(b.Namespace)); err != nil {
		t.Fatal(err)
	}
	b.fetcher.set(errors.New("unreachable"), "")
	b.start(b.Config)
	harness.Eventually(t, patience, func(context.Context) error {
		if b.fetcher.count() == before {
			return errors.New("nothing was fetched")
		}
		return nil
	})
	b.fetcher.set(nil, "")
	harness.Eventually(t, patience, b.listed)
	waits("1 instance of App exists")
	name := "apps." + b.group
	if b.crd(name) == nil {
		t.Fatal("the CRD is gone")
	}
	if err := b.client.Delete(t.Context(), two); err != nil {
		t.Fatal(err)
	}
	// Graphs are deleted with the rights of the Transform.
	b.blocked("app", "Ready", "GraphsExist", b.Namespace+"/one")
	if _, err := b.roleOf(t.Context(), "", "app"); err != nil {
		t.Error(err)
	}
	if err := b.client.Delete(t.Context(), graph); err != nil {
		t.Fatal(err)
	}
	b.gone("app")
	b.noRole("", "app")
	if b.crd(name) != nil || len(b.catalog.Entries()) > 0 {
		t.Error("the CRD is left, or the platform is listed")
	}
}

// TestDeleteUnlisted deletes a Transform whose instances can't be listed, as those of a CRD that
// was just deleted. The only worker continues with other Transforms, and with this one later.
func TestDeleteUnlisted(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	proxy, err := faults.Start(b.Config, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Close() })
	b.options.Concurrent = 1
	b.start(proxy.Config(b.Config))
	b.create(b.transform("app", b.appModule(`text: string`)))
	b.ready("app")
	missing := faults.Rule{Verbs: []string{"list", "watch"}, Resources: []string{"apps." + b.group}, Faults: []faults.Fault{faults.Status{Code: 404}}}
	proxy.Inject(missing)
	if err := b.client.Delete(t.Context(), b.transform("app", "")); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, patience, func(context.Context) error {
		if len(proxy.Faults()) == 0 {
			return errors.New("the instances were not listed")
		}
		return nil
	})
	b.create(b.transform("other", strings.ReplaceAll(b.appModule(`text: string`), `"App"`, `"Other"`)))
	b.ready("other")
	proxy.Inject()
	b.gone("app")
}

// TestDeleteGraphs deletes a Transform after its last instance: graphs whose owner is gone with
// its kind are deleted, which the garbage collector of Kubernetes doesn't do. Until they are, the
// Transform has its rights, even if it hadn't before.
func TestDeleteGraphs(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.create(b.transform("app", b.appModule(`text: string`), func(t *v1alpha1.Transform) { t.Spec.RBACScope = v1alpha1.RBACNamespace }))
	b.ready("app")
	graph := b.graph("web", "sha256:0")
	graph.Annotations = map[string]string{v1alpha1.AnnotationAccount: "pequod-transform-app"}
	graph.Finalizers = []string{v1alpha1.Finalizer}
	graph.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: b.group + "/v1alpha1", Kind: "Former", Name: "web", UID: "a", Controller: new(true),
	}}
	b.create(graph)
	if err := b.client.Delete(t.Context(), b.transform("app", "")); err != nil {
		t.Fatal(err)
	}
	b.blocked("app", "Ready", "GraphsExist", b.Namespace+"/web")
	b.mayOnly("system:serviceaccount:"+b.Namespace+":pequod-transform-app", b.Namespace, true)
	if err := b.client.Get(t.Context(), client.ObjectKeyFromObject(graph), graph); err != nil || graph.DeletionTimestamp == nil {
		t.Fatalf("the graph is not being deleted: %v", err)
	}
	graph.Finalizers = nil
	if err := b.client.Update(t.Context(), graph); err != nil {
		t.Fatal(err)
	}
	b.gone("app")
	b.noRole(b.Namespace, "app")
}

// TestOrphan leaves the CRD and the instances of a deleted Transform, which a new Transform
// of this name gets back, and the account and the roles, with which graphs are executed.
func TestOrphan(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	orphan := func(t *v1alpha1.Transform) { t.Spec.CRDDeletionPolicy = v1alpha1.DeletionOrphan }
	b.create(b.transform("app", b.appModule(`text: string`), orphan))
	b.ready("app")
	one := b.Apply(t, b.instance("one"))[0]
	if err := b.client.Delete(t.Context(), b.transform("app", "")); err != nil {
		t.Fatal(err)
	}
	b.gone("app")
	b.event("app", "RightsKept", "service account "+b.Namespace+"/pequod-transform-app and its roles stay")
	b.mayOnly("system:serviceaccount:"+b.Namespace+":pequod-transform-app", b.Namespace, true)
	if err := b.client.Get(t.Context(), client.ObjectKeyFromObject(one), one); err != nil {
		t.Fatal(err)
	}
	if len(b.catalog.Entries()) > 0 {
		t.Error("the platform is listed")
	}
	b.create(b.transform("other", b.appModule(`text: string`)))
	b.blocked("other", "CRDGenerated", "Conflict", "it was generated for Transform "+b.Namespace+"/app")
	b.create(b.transform("app", b.appModule(`text: string`), orphan))
	b.ready("app")

	// Nothing needs the rights if there are neither graphs nor instances.
	graph := b.graph("one", "sha256:0")
	b.create(graph)
	if err := errors.Join(b.client.Delete(t.Context(), one), b.client.Delete(t.Context(), b.transform("app", ""))); err != nil {
		t.Fatal(err)
	}
	b.gone("app")
	if _, err := b.roleOf(t.Context(), "", "app"); err != nil {
		t.Errorf("a graph is left: %v", err)
	}
	b.create(b.transform("app", b.appModule(`text: string`), orphan))
	b.ready("app")
	if err := errors.Join(b.client.Delete(t.Context(), graph), b.client.Delete(t.Context(), b.transform("app", ""))); err != nil {
		t.Fatal(err)
	}
	b.gone("app")
	b.noRole("", "app")
	if b.crd("apps."+b.group) == nil {
		t.Error("the CRD is gone")
	}
}

// TestDeleteBlocked deletes a Transform whose CRD is another owner's: the CRD stays.
func TestDeleteBlocked(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.create(b.transform("first", b.appModule(`text: string`)))
	b.ready("first")
	b.create(b.transform("second", b.appModule(`text: string`)))
	b.blocked("second", "CRDGenerated", "Conflict", "/first generates it")
	if err := b.client.Delete(t.Context(), b.transform("second", "")); err != nil {
		t.Fatal(err)
	}
	b.gone("second")
	b.ready("first")
	if crd := b.crd("apps." + b.group); crd == nil || !crd.DeletionTimestamp.IsZero() {
		t.Errorf("CRD: %v", crd)
	}
}

// TestDeletionFailed deletes a Transform while a policy denies the deletion of its CRD. The status has the
// reason, and the Transform is gone once the policy is removed.
func TestDeletionFailed(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.create(b.transform("app", b.appModule(`text: string`)))
	b.ready("app")
	name := b.Unique("kept")
	for _, o := range b.Apply(t, strings.ReplaceAll(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: NAME}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [apiextensions.k8s.io], apiVersions: ["*"], operations: [DELETE], resources: [customresourcedefinitions], resourceNames: [apps.`+b.group+`]}
  validations: [{expression: "false", message: "kept for the audit", reason: Forbidden}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: NAME}
spec: {policyName: NAME, validationActions: [Deny]}
`, "NAME", name)) {
		t.Cleanup(func() { _ = b.client.Delete(context.Background(), o) })
	}
	// API servers know a policy some time after it was made.
	harness.Eventually(t, patience, func(ctx context.Context) error {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		crd.Name = "apps." + b.group
		if err := b.client.Delete(ctx, crd, client.DryRunAll); !apierrors.IsForbidden(err) {
			return fmt.Errorf("the policy isn't known: %w", err)
		}
		return nil
	})
	if err := b.client.Delete(t.Context(), b.transform("app", "")); err != nil {
		t.Fatal(err)
	}
	b.blocked("app", "Ready", "DeletionFailed", "what the Transform generated can't be deleted, which is repeated: ")
	b.blocked("app", "Ready", "DeletionFailed", "kept for the audit")
	if err := b.Client.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	b.gone("app")
}
