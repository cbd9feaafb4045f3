package transform_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/harness"
)

// managerAccount gives the service account manager the rights that a manager needs,
// and the given ones, and returns the name of the role.
func (b *env) managerAccount(grants ...rbacv1.PolicyRule) string {
	b.t.Helper()
	name := b.Unique("manager")
	rule := func(group, resource string, verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
	}
	write := []string{"get", "list", "watch", "create", "patch", "update", "delete"}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: append([]rbacv1.PolicyRule{
		rule(v1alpha1.Group, "transforms", write...), rule(v1alpha1.Group, "transforms/status", "patch"),
		rule("apiextensions.k8s.io", "customresourcedefinitions", write...), rule("apiextensions.k8s.io", "customresourcedefinitions/status", "patch"),
		rule("", "serviceaccounts", write...), rule("events.k8s.io", "events", "create", "patch"), rule(b.group, "*", write...), rule("apps", "controllerrevisions", write...),
		{APIGroups: []string{rbacv1.GroupName}, Resources: []string{"roles", "rolebindings", "clusterroles", "clusterrolebindings"}, Verbs: write},
	}, grants...)}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: b.Namespace, Name: "manager"}},
	}
	b.create(role)
	b.create(binding)
	b.t.Cleanup(func() {
		_ = b.client.Delete(context.Background(), binding)
		_ = b.client.Delete(context.Background(), role)
	})
	return name
}

// configMaps is the rule that graphs of the test's module need, as managedResources grant it.
var configMaps = rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "list", "watch", "create", "patch", "delete"}}

// roleOf returns the rules of a role of a Transform; namespace "" stands for a ClusterRole.
func (b *env) roleOf(ctx context.Context, namespace, transform string) ([]rbacv1.PolicyRule, error) {
	key := types.NamespacedName{Namespace: namespace, Name: "pequod:transform:" + b.Namespace + ":" + transform}
	if namespace == "" {
		role, binding := &rbacv1.ClusterRole{}, &rbacv1.ClusterRoleBinding{}
		err := errors.Join(b.client.Get(ctx, key, role), b.client.Get(ctx, key, binding))
		return role.Rules, err
	}
	role, binding := &rbacv1.Role{}, &rbacv1.RoleBinding{}
	err := errors.Join(b.client.Get(ctx, key, role), b.client.Get(ctx, key, binding))
	return role.Rules, err
}

// noRole waits until a role is gone.
func (b *env) noRole(namespace, transform string) {
	b.t.Helper()
	harness.Eventually(b.t, patience, func(ctx context.Context) error {
		key := types.NamespacedName{Namespace: namespace, Name: "pequod:transform:" + b.Namespace + ":" + transform}
		objects := []client.Object{&rbacv1.Role{}, &rbacv1.RoleBinding{}}
		if namespace == "" {
			objects = []client.Object{&rbacv1.ClusterRole{}, &rbacv1.ClusterRoleBinding{}}
		}
		for _, o := range objects {
			if err := b.client.Get(ctx, key, o); !apierrors.IsNotFound(err) {
				return fmt.Errorf("%T %s exists: %v", o, key, err)
			}
		}
		return nil
	})
}

// TestClusterRoles grants what the samples need in the whole cluster, and no more.
func TestClusterRoles(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.create(b.transform("app", b.appModule(`text: string`)))
	b.ready("app")
	user := "system:serviceaccount:" + b.Namespace + ":pequod-transform-app"
	b.mayOnly(user, "default", true)
	b.mayOnly(user, "kube-system", true)
	// What others change is corrected.
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "pequod:transform:" + b.Namespace + ":app"}}
	if err := b.client.Delete(t.Context(), role); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, patience, func(ctx context.Context) error {
		_, err := b.roleOf(ctx, "", "app")
		return err
	})
	// An account of the namespace needs no generated one.
	b.edit("app", func(t *v1alpha1.Transform) { t.Spec.ServiceAccountName = "team" })
	b.until("app", func(t *v1alpha1.Transform) error {
		if got := conditions(t)["RBACConfigured"]; got != "True ServiceAccountName" {
			return errors.New(got)
		}
		return nil
	})
	b.noRole("", "app")
	_, err := b.Client.CoreV1().ServiceAccounts(b.Namespace).Get(t.Context(), "pequod-transform-app", metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("the account exists: %v", err)
	}
}

// mayOnly checks that a user may write ConfigMaps of a namespace, or not, and nothing else.
func (b *env) mayOnly(user, namespace string, want bool) {
	b.t.Helper()
	harness.Eventually(b.t, patience, func(ctx context.Context) error {
		for _, q := range []struct {
			group, resource, verb string
			allowed               bool
		}{
			{"", "configmaps", "create", want}, {"", "configmaps", "patch", want}, {"", "configmaps", "delete", want},
			{"", "secrets", "get", false}, {"apps", "deployments", "create", false}, {"rbac.authorization.k8s.io", "roles", "create", false},
		} {
			review, err := b.Client.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
				Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{
					Namespace: namespace, Group: q.group, Resource: q.resource, Verb: q.verb,
				}},
			}, metav1.CreateOptions{})
			if err != nil {
				return err
			}
			if review.Status.Allowed != q.allowed {
				return fmt.Errorf("%s may %s %s in %s: %v", user, q.verb, q.resource, namespace, review.Status.Allowed)
			}
		}
		return nil
	})
}

// TestNamespaceRoles grants rights in the namespaces that have instances.
func TestNamespaceRoles(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.create(b.transform("app", b.appModule(`text: string`), func(t *v1alpha1.Transform) { t.Spec.RBACScope = v1alpha1.RBACNamespace }))
	b.ready("app")
	user := "system:serviceaccount:" + b.Namespace + ":pequod-transform-app"
	b.mayOnly(user, b.Namespace, false)
	instance := b.Apply(t, b.instance("web"))[0]
	b.mayOnly(user, b.Namespace, true)
	b.mayOnly(user, "default", false)
	b.noRole("", "app")
	if err := b.client.Delete(t.Context(), instance); err != nil {
		t.Fatal(err)
	}
	b.noRole(b.Namespace, "app")
	b.mayOnly(user, b.Namespace, false)
}

// TestFormerNamespaces keeps the rights in a namespace without instances until the graph of the
// last one is deleted, which is later than its instance. A restarted manager does, too, if the
// rights were never granted.
func TestFormerNamespaces(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.create(b.transform("app", b.appModule(`text: string`), func(t *v1alpha1.Transform) { t.Spec.RBACScope = v1alpha1.RBACNamespace }))
	b.ready("app")
	user := "system:serviceaccount:" + b.Namespace + ":pequod-transform-app"
	instance := b.Apply(t, b.instance("web"))[0]
	b.mayOnly(user, b.Namespace, true)
	graph := b.graph("web", "sha256:0")
	b.create(graph)
	if err := b.client.Delete(t.Context(), instance); err != nil {
		t.Fatal(err)
	}
	handled := func(request string) {
		t.Helper()
		b.edit("app", func(t *v1alpha1.Transform) {
			t.Annotations = map[string]string{v1alpha1.AnnotationReconcileRequestedAt: request}
		})
		b.until("app", func(t *v1alpha1.Transform) error {
			if t.Status.LastHandledReconcileAt != request {
				return errors.New("not handled")
			}
			return nil
		})
	}
	handled("one")
	if _, err := b.roleOf(t.Context(), b.Namespace, "app"); err != nil {
		t.Fatal(err)
	}
	b.stop()
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: "pequod:transform:" + b.Namespace + ":app"}}
	if err := b.client.Delete(t.Context(), role); err != nil {
		t.Fatal(err)
	}
	b.start(b.Config)
	b.mayOnly(user, b.Namespace, true)
	if err := b.client.Delete(t.Context(), graph); err != nil {
		t.Fatal(err)
	}
	b.noRole(b.Namespace, "app")
}

// instance returns an instance of the test's kind.
func (b *env) instance(name string) string {
	return "{apiVersion: " + b.group + "/v1alpha1, kind: App, metadata: {name: " + name + "}, spec: {text: a}}"
}

// TestEscalation has a manager grant no more than it has itself.
func TestEscalation(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	name := b.managerAccount()
	b.start(b.ServiceAccount(t, b.Namespace, "manager"))
	b.create(b.transform("app", b.appModule(`text: string`)))
	b.blocked("app", "RBACConfigured", "EscalationRefused", "attempting to grant RBAC permissions not currently held")
	b.noRole("", "app")
	// An administrator gives the manager the right.
	role := &rbacv1.ClusterRole{}
	if err := b.client.Get(t.Context(), types.NamespacedName{Name: name}, role); err != nil {
		t.Fatal(err)
	}
	role.Rules = append(role.Rules, configMaps, rbacv1.PolicyRule{APIGroups: []string{"", "events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"get", "list", "watch"}})
	if err := b.client.Update(t.Context(), role); err != nil {
		t.Fatal(err)
	}
	b.ready("app") // nobody requests it: the manager watches roles
}

// TestManagedResources grants what is listed, and refuses graphs that reach further unless it
// is listed.
func TestManagedResources(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	module := `
package app

#Platform: {group: "` + b.group + `", kind: "App"}
#Input: {text: string}
#Render: {
	input: {metadata: {name: string, namespace: string}, spec: #Input}
	output: nodes: first: resource: {
		apiVersion: "v1"
		kind:       "Namespace"
		metadata: name: input.metadata.name
	}
}
`
	b.create(b.transform("app", module))
	b.blocked("app", "RBACConfigured", "EscalationRefused", "asks for rights on a cluster-scoped object")
	b.edit("app", func(t *v1alpha1.Transform) {
		t.Spec.ManagedResources = []v1alpha1.ManagedResource{{Resources: []string{"namespaces"}, Verbs: []string{"get", "create"}}, {Resources: []string{"configmaps"}}}
	})
	b.ready("app")
	got := &rbacv1.ClusterRole{}
	if err := b.client.Get(t.Context(), types.NamespacedName{Name: "pequod:transform:" + b.Namespace + ":app"}, got); err != nil {
		t.Fatal(err)
	}
	// Nothing else is added than the right to find out why a Namespace isn't ready.
	want := []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get", "create"}}, configMaps,
		{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"list"}},
	}
	if diff := cmp.Diff(want, got.Rules); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
}

// TestFormerRights keeps the rights of an earlier version of the module while a graph needs
// them to delete what left it.
func TestFormerRights(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	module := strings.Replace(b.appModule(`text: string`), "output: nodes:", `output: nodes: second: resource: {
		apiVersion: "v1"
		kind:       "Service"
		metadata: {name: input.metadata.name, namespace: input.metadata.namespace}
		spec: ports: [{port: 80}]
	}
	output: nodes:`, 1)
	b.create(b.transform("app", module))
	old := b.ready("app")
	user := "system:serviceaccount:" + b.Namespace + ":pequod-transform-app"
	graph := b.graph("one", old.Status.ResolvedCueRef.Digest)
	b.create(graph)
	b.edit("app", func(t *v1alpha1.Transform) { t.Spec.CueRef.Ref = b.appModule(`text: string, more?: int`) })
	now := b.until("app", func(t *v1alpha1.Transform) error {
		if r := t.Status.ResolvedCueRef; r.Digest == old.Status.ResolvedCueRef.Digest {
			return errors.New("the module is the old one")
		}
		return nil
	})
	may := func() bool {
		t.Helper()
		review, err := b.Client.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), &authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: b.Namespace, Resource: "services", Verb: "delete",
			}},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return review.Status.Allowed
	}
	if !may() {
		t.Fatal("Services can't be deleted any more")
	}
	// The graph is one of the new version now, and executed.
	graph.Spec.PlatformRef.Digest = now.Status.ResolvedCueRef.Digest
	if err := b.client.Update(t.Context(), graph); err != nil {
		t.Fatal(err)
	}
	graph.Status.ObservedGeneration, graph.Status.Phase = graph.Generation, v1alpha1.GraphCompleted
	if err := b.client.Status().Update(t.Context(), graph); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, patience, func(context.Context) error {
		if may() {
			return errors.New("Services can still be deleted")
		}
		return nil
	})
}

// TestUnknownKind grants the rights on a kind when its CRD is installed.
func TestUnknownKind(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	group := b.Unique("other") + ".example.org"
	module := strings.Replace(b.appModule(`text: string`), `"v1"`, `"`+group+`/v1"`, 1)
	b.create(b.transform("app", strings.Replace(module, `"ConfigMap"`, `"Thing"`, 1)))
	b.until("app", func(t *v1alpha1.Transform) error {
		if c := apimeta.FindStatusCondition(t.Status.Conditions, "RBACConfigured"); c == nil || !strings.Contains(c.Message, "such as Thing."+group) {
			return errors.New("no message")
		}
		return nil
	})
	b.ready("app")
	crd := b.Apply(t, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.`+group+`}
spec:
  group: `+group+`
  scope: Namespaced
  names: {kind: Thing, plural: things, singular: thing, listKind: ThingList}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`)[0]
	t.Cleanup(func() { _ = b.client.Delete(context.Background(), crd) })
	harness.Eventually(t, patience, func(ctx context.Context) error {
		rules, err := b.roleOf(ctx, "", "app")
		if err == nil && !slices.ContainsFunc(rules, func(r rbacv1.PolicyRule) bool { return slices.Contains(r.Resources, "things") }) {
			err = fmt.Errorf("rules: %v", rules)
		}
		return err
	})
}

// graph returns a graph of an instance of the test's kind, of a module with a digest.
func (b *env) graph(name, digest string) *v1alpha1.ResourceGraph {
	graph := &v1alpha1.ResourceGraph{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: name, Labels: map[string]string{
		v1alpha1.LabelOperator: "true", v1alpha1.LabelTransform: "app",
	}}}
	graph.Spec.SourceRef = v1alpha1.ObjectRef{APIVersion: b.group + "/v1alpha1", Kind: "App", Name: name}
	graph.Spec.PlatformRef = v1alpha1.PlatformRef{Module: "app", Digest: digest}
	graph.Spec.RenderHash = "sha256:" + strings.Repeat("0", 64)
	graph.Spec.Graph.Nodes = []v1alpha1.Node{{ID: "first", Resource: &runtime.RawExtension{
		Raw: []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"one"}}`),
	}}}
	return graph
}

// TestNewNamespace counts what instances cost with a role in each namespace: a new namespace gets its role
// and its binding once and no graph is listed for it, and another instance there leads to nothing. Changes
// of roles by other tests would be counted, too, so this one isn't parallel to them.
func TestNewNamespace(t *testing.T) {
	b := idle(t, harness.Start(t))
	counted := &outcomes{}
	b.options.Metrics = counted
	proxy := b.Proxy(t, 1)
	b.start(proxy.Config(b.Config))
	b.create(b.transform("counted", b.appModule(`text: string`), func(t *v1alpha1.Transform) { t.Spec.RBACScope = v1alpha1.RBACNamespace }))
	b.ready("counted")
	b.Apply(t, b.instance("first"))
	user := "system:serviceaccount:" + b.Namespace + ":pequod-transform-counted"
	b.mayOnly(user, b.Namespace, true)
	proxy.Reset()
	var namespaces []string
	for i := range 3 {
		name := b.Unique(fmt.Sprint("new", i))
		b.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
		t.Cleanup(func() {
			_ = b.client.Delete(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
		})
		namespaces = append(namespaces, name)
	}
	add := func(n int, prefix string) {
		for i := range n * len(namespaces) {
			b.create(&unstructured.Unstructured{Object: map[string]any{
				"apiVersion": b.group + "/v1alpha1", "kind": "App", "spec": map[string]any{"text": "a"},
				"metadata": map[string]any{"namespace": namespaces[i%len(namespaces)], "name": fmt.Sprint(prefix, i)},
			}})
		}
	}
	add(10, "web-")
	writes := func(namespace string) []string {
		var all []string
		for _, r := range proxy.Requests() {
			if r.Write() && r.Namespace == namespace {
				all = append(all, r.Verb+" "+r.Resource)
			}
		}
		return all
	}
	want := []string{"apply roles.rbac.authorization.k8s.io", "apply rolebindings.rbac.authorization.k8s.io"}
	for _, name := range namespaces {
		b.mayOnly(user, name, true)
	}
	time.Sleep(2 * time.Second) // nothing is to come
	for _, name := range namespaces {
		if diff := cmp.Diff(want, writes(name)); diff != "" {
			t.Errorf("writes for a new namespace (-want +got):\n%s", diff)
		}
	}
	if n := proxy.Count(func(r faults.Request) bool { return r.Verb == "list" }); n > 0 {
		t.Errorf("%d lists for new namespaces", n)
	}
	reconciled := func() int {
		counted.mu.Lock()
		defer counted.mu.Unlock()
		return len(counted.results)
	}
	before := reconciled()
	add(10, "more-")
	time.Sleep(2 * time.Second)
	if n := reconciled() - before; n > 0 {
		t.Errorf("%d reconciliations for instances of namespaces with instances", n)
	}
}
