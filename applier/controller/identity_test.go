package controller_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/controller"
	"github.com/pequod-io/pequod/applier/rbac"
	"github.com/pequod-io/pequod/test/harness"
)

func as(account string) func(*v1alpha1.ResourceGraphSpec) {
	return func(s *v1alpha1.ResourceGraphSpec) { s.ServiceAccountName = account }
}

func TestAccountMissing(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.apply(b.rendered("web", nodes(configMap("a", "a", "1")), as("later")))
	b.until("web", condition("Stalled", "True", "ServiceAccountMissing", "service account later of namespace "+b.Namespace+" doesn't exist"))
	b.wantExists(false, "v1", "ConfigMap", "a")
	b.account("later", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"*"}})
	rg := b.ready("web")
	if owned(rg) != "ConfigMap a" {
		t.Errorf("inventory: %s", owned(rg))
	}
	// The account goes, and the graph after it: its objects stay.
	if err := b.Client.CoreV1().ServiceAccounts(b.Namespace).Delete(t.Context(), "later", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	b.remove("web")
	b.gone("web")
	b.wantExists(true, "v1", "ConfigMap", "a")
	b.event("web", "Orphaned", "service account later of namespace "+b.Namespace+" doesn't exist: orphaned 1 object")
}

func TestNoAccount(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	b.options.DefaultServiceAccount = ""
	b.start(b.Config)
	b.apply(b.rendered("web", nodes(configMap("a", "a", "1"))))
	b.until("web", condition("Stalled", "True", "NoServiceAccount", "--default-service-account"))
	b.apply(b.rendered("web", nodes(configMap("a", "a", "1")), as("pequod")))
	b.ready("web")
}

// The account's rights are the limit, whatever the applier may do itself.
func TestImpersonationLimits(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.account("weak", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "list", "patch", "create", "delete"}})
	b.apply(b.rendered("web", nodes(
		configMap("a", "a", "1"),
		`{id: service, resource: {apiVersion: v1, kind: Service, metadata: {name: web}, spec: {ports: [{port: 80}]}}}`,
	), as("weak")))
	rg := b.until("web", condition("Stalled", "True", "Forbidden", `User "system:serviceaccount:`+b.Namespace+`:weak" cannot patch resource "services"`))
	if got := phases(rg); got != "a Ready, service Failed" {
		t.Errorf("nodes %s", got)
	}
	b.event("web", "ApplyFailed", "node service: Service "+b.Namespace+"/web")

	// What it may not read feeds no reference, though the applier could read it.
	b.Apply(t, "{apiVersion: v1, kind: Secret, metadata: {name: theirs}, stringData: {password: hunter2}}")
	b.apply(b.rendered("thief", nodes(
		`{id: theirs, externalRef: {apiVersion: v1, kind: Secret, name: theirs}}`,
		`{id: copy, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: copy}, data: {a: {$from: theirs.metadata.uid}}}}`,
	), as("weak")))
	b.until("thief", condition("Ready", "False", "Forbidden", "cannot"))
	b.wantExists(false, "v1", "ConfigMap", "copy")
	b.remove("thief")
	b.gone("thief")
}

// Whatever is done to a graph's objects is asked for as its account, and so is
// whatever is read of them but what the applier watches: of its own right it works
// on graphs, and sees whether accounts exist.
func TestIdentityOfRequests(t *testing.T) {
	t.Parallel()
	b, proxy := proxied(t)
	b.Apply(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: theirs}, data: {a: \"1\"}}")
	b.Apply(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: adopted}, data: {a: \"1\"}}")
	adopt := func(s *v1alpha1.ResourceGraphSpec) {
		s.Adopt = &v1alpha1.Adopt{Resources: []v1alpha1.ObjectRef{{APIVersion: "v1", Kind: "ConfigMap", Name: "adopted"}}}
	}
	external := `{id: theirs, externalRef: {apiVersion: v1, kind: ConfigMap, name: theirs}}`
	copied := `{id: copy, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: copy}, data: {a: {$from: theirs.data.a}}}}`
	broken := `{id: broken, resource: {apiVersion: apps/v1, kind: Deployment, metadata: {name: broken}, spec: {selector: {matchLabels: {app: b}},
	  template: {metadata: {labels: {app: b}}, spec: {containers: [{name: b, image: "b:missing"}]}}}}}`
	b.apply(b.rendered("web", nodes(external, copied, configMap("adopted", "adopted", "1"), configMap("leaves", "leaves", "1")), adopt))
	b.ready("web")
	b.patch("v1", "ConfigMap", "theirs", "somebody", `{"data":{"a":"2"}}`)
	b.eventually("followed", func(ctx ctx) bool { return b.data(ctx, "copy") == "2" })
	b.patch("v1", "ConfigMap", "copy", "somebody", `{"data":{"a":"other"}}`)
	b.eventually("corrected", func(ctx ctx) bool { return b.data(ctx, "copy") == "2" })
	b.apply(b.rendered("web", nodes(external, copied, broken, configMap("adopted", "adopted", "1")), adopt))
	b.until("web", condition("Reconciling", "True", "", "can't be pulled")) // its cause was looked for
	b.remove("web")
	b.gone("web")
	account := "system:serviceaccount:" + b.Namespace + ":pequod"
	asAccount := map[string]bool{}
	for _, r := range proxy.Requests() {
		kind, _, _ := strings.Cut(r.Resource, ".")
		kind, _, _ = strings.Cut(kind, "/")
		switch {
		case r.As == account:
			asAccount[r.Verb+" "+kind] = true
			if kind == "resourcegraphs" || kind == "events" && r.Write() {
				t.Errorf("as the account: %s %s %s", r.Verb, r.Resource, r.Name)
			}
		case r.As != "":
			t.Errorf("as %s: %s %s %s", r.As, r.Verb, r.Resource, r.Name)
		case r.Discovery(), kind == "resourcegraphs", kind == "events":
		case r.Resource == "serviceaccounts" && r.Verb == "get":
		case r.Resource == "customresourcedefinitions.apiextensions.k8s.io" && r.Verb == "get" && r.Name == "resourcegraphs.platform.pequod.io":
		case r.Name == "" && (r.Verb == "list" || r.Verb == "watch"): // by the label of all graphs
		default:
			t.Errorf("as the applier itself: %s %s %s", r.Verb, r.Resource, r.Name)
		}
	}
	for _, want := range []string{"apply configmaps", "delete configmaps", "watch configmaps", "list pods"} {
		if !asAccount[want] {
			t.Errorf("nobody asked to %s as the account", want)
		}
	}
}

func TestNoCrossNamespace(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	b.options.NoCrossNamespace = true
	b.start(b.Config)
	b.apply(b.rendered("web", nodes(`{id: a, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}}}`)))
	b.until("web", condition("Stalled", "True", "CrossNamespace", "node a: ConfigMap default/a is in another namespace"))
	b.apply(b.rendered("web", nodes(configMap("a", "a", "1"))))
	b.ready("web")
}

// An applier that may watch nothing sees by the eyes of the graphs' accounts.
func TestWithoutRightsToWatch(t *testing.T) {
	t.Parallel()
	b := narrow(t)
	b.options.Resync = 2 * time.Second
	b.start(b.ServiceAccount(t, b.Namespace, "applier"))
	b.apply(b.rendered("web", webService))
	b.ready("web")
	b.patch("v1", "ConfigMap", "web", "somebody", `{"data":{"a":"other"}}`)
	b.eventually("corrected", func(ctx ctx) bool { return b.data(ctx, "web") == "one" })
	b.remove("web")
	b.gone("web")
	b.wantExists(false, "v1", "ConfigMap", "web", "address")
}

// One that may watch a namespace watches that.
func TestRightsToWatchANamespace(t *testing.T) {
	t.Parallel()
	b := narrow(t)
	b.account("applier", rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"get", "list", "watch"}})
	b.options.Resync = time.Hour // nothing is polled in time
	b.start(b.ServiceAccount(t, b.Namespace, "applier"))
	b.apply(b.rendered("web", webService))
	b.ready("web")
	b.patch("v1", "ConfigMap", "web", "somebody", `{"data":{"a":"other"}}`)
	b.eventually("corrected", func(ctx ctx) bool { return b.data(ctx, "web") == "one" })
}

// A right that is granted after the graph was made, as where both are applied at
// once, is noticed before long.
func TestRightsToWatchComeLater(t *testing.T) {
	t.Parallel()
	b := narrow(t)
	b.options.Resync = time.Hour
	b.start(b.ServiceAccount(t, b.Namespace, "applier"))
	b.apply(b.rendered("web", nodes(configMap("a", "a", "1"))))
	b.ready("web")
	b.account("applier", rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"get", "list", "watch"}})
	b.patch("v1", "ConfigMap", "a", "somebody", `{"data":{"a":"other"}}`)
	b.eventually("corrected", func(ctx ctx) bool { return b.data(ctx, "a") == "1" })
}

// The right to impersonate may come from a role in the namespace of the graphs, as in
// config/applier/components/per-namespace.
func TestImpersonationPerNamespace(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	b.account("applier", rbacv1.PolicyRule{
		APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, ResourceNames: []string{"pequod"}, Verbs: []string{"get", "impersonate"},
	})
	roles := b.Client.RbacV1().ClusterRoles()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: b.Unique("narrower")}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{v1alpha1.Group}, Resources: []string{"*"}, Verbs: []string{"*"}},
		{APIGroups: []string{"events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create", "patch"}},
	}}
	if _, err := roles.Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = roles.Delete(b.background(), role.Name, metav1.DeleteOptions{}) })
	b.bindCluster("applier", role.Name)
	b.account("other", rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}})
	b.start(b.ServiceAccount(t, b.Namespace, "applier"))
	b.apply(b.rendered("web", nodes(configMap("a", "a", "1"))))
	b.ready("web")
	b.apply(b.rendered("denied", nodes(configMap("b", "b", "1")), as("other")))
	b.apply(b.rendered("web", nodes(configMap("a", "a", "2"))))
	b.ready("web")
	b.wantExists(false, "v1", "ConfigMap", "b")
}

// An applier without the right to impersonate executes graphs with constrained roles, and
// no others.
func TestConstrainedImpersonation(t *testing.T) {
	t.Parallel()
	b := narrowTo(t, "get")
	b.Requires(t, "1.36")
	web := b.rendered("web", webService)
	roles, err := rbac.Generate([]*v1alpha1.ResourceGraph{web}, rbac.Options{Constrained: types.NamespacedName{Namespace: b.Namespace, Name: "applier"}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range roles.Roles {
		if _, err := b.Client.RbacV1().Roles(b.Namespace).Create(t.Context(), &roles.Roles[i], metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Client.RbacV1().RoleBindings(b.Namespace).Create(t.Context(), &roles.RoleBindings[i], metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	b.account("other", rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}})
	b.options.Resync = 2 * time.Second // what may not be watched is polled
	b.start(b.ServiceAccount(t, b.Namespace, "applier"))
	b.apply(web)
	b.ready("web")
	b.patch("v1", "ConfigMap", "web", "somebody", `{"data":{"a":"other"}}`)
	b.eventually("corrected", func(ctx ctx) bool { return b.data(ctx, "web") == "one" })
	b.apply(b.rendered("denied", nodes(configMap("b", "b", "1")), as("other")))
	b.until("denied", condition("Ready", "False", "Forbidden", `cannot impersonate:serviceaccount`))
	b.remove("web")
	b.gone("web")
	b.wantExists(false, "v1", "ConfigMap", "web", "b")
}

// narrow returns an env with an account for the applier that may read and write
// graphs and impersonate, and no more.
func narrow(t *testing.T) *env { return narrowTo(t, "get", "impersonate") }

// narrowTo is narrow with the given verbs for service accounts.
func narrowTo(t *testing.T, verbs ...string) *env {
	b := idle(t, harness.Start(t))
	b.ServiceAccount(t, b.Namespace, "applier")
	roles := b.Client.RbacV1().ClusterRoles()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: b.Unique("narrow")}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{v1alpha1.Group}, Resources: []string{"*"}, Verbs: []string{"*"}},
		{APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, Verbs: verbs},
		{APIGroups: []string{"events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create", "patch"}},
	}}
	if _, err := roles.Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = roles.Delete(b.background(), role.Name, metav1.DeleteOptions{}) })
	b.bindCluster("applier", role.Name)
	return b
}

// A graph whose account lacks rights goes on when a role or binding gives them, also long
// after it has failed.
func TestRightsComeLate(t *testing.T) {
	t.Parallel()
	for kind, late := range map[string]string{
		"RoleBinding":        `roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: admin}, SUBJECTS`,
		"Role":               `rules: [{apiGroups: [""], resources: [configmaps], verbs: ["*"]}]`,
		"ClusterRoleBinding": `roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: admin}, SUBJECTS`,
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			b := idle(t, harness.Start(t))
			b.options.Clock = scaled{time.Now(), 1. / factor} // nothing is tried again in time
			if err := b.Client.RbacV1().RoleBindings(b.Namespace).Delete(t.Context(), "pequod", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			subjects := `subjects: [{kind: ServiceAccount, name: pequod, namespace: ` + b.Namespace + `}]`
			b.Apply(t, `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: empty}, `+
				`roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: late}, `+subjects+`}`)
			b.start(b.Config)
			b.apply(b.rendered("web", nodes(configMap("a", "a", "1"))))
			b.until("web", condition("Stalled", "True", "Forbidden", "pequod rbac generate"))
			name := "late"
			if kind == "ClusterRoleBinding" {
				name = b.Unique("late")
				t.Cleanup(func() {
					_ = b.Client.RbacV1().ClusterRoleBindings().Delete(b.background(), name, metav1.DeleteOptions{})
				})
			}
			b.eventually("the graph is ready", func(ctx ctx) bool {
				// What changes before the watches are open isn't noticed.
				b.Apply(t, `{apiVersion: rbac.authorization.k8s.io/v1, kind: `+kind+`, metadata: {name: `+name+`, annotations: {try: `+b.Unique("try")+`}}, `+
					strings.ReplaceAll(late, "SUBJECTS", subjects)+`}`)
				rg, err := b.get(ctx, "web")
				return err == nil && isReady(rg) == nil
			})
		})
	}
}

// When a namespace is deleted, its graphs are deleted, too, even if their account lost
// its rights first.
func TestNamespaceIsDeleted(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.apply(b.rendered("web", webService))
	b.ready("web")
	if err := b.Client.CoreV1().Namespaces().Delete(t.Context(), b.Namespace, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	b.patience = 10 * time.Minute // each pass of the namespace controller reads all kinds of all tests
	b.gone("web")
	b.eventually("the namespace is gone", func(ctx ctx) bool {
		_, err := b.Client.CoreV1().Namespaces().Get(ctx, b.Namespace, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

// A graph that can't be deleted for lack of rights is released at once when its account
// is deleted, also if its execution had failed for the same reason before.
func TestAccountIsDeletedAfterItsRights(t *testing.T) {
	t.Parallel()
	for name, drift := range map[string]bool{"ready": false, "failed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := idle(t, harness.Start(t))
			b.options.Clock = scaled{time.Now(), 1. / factor} // nothing is tried again in time
			b.start(b.Config)
			b.apply(b.rendered("web", nodes(configMap("a", "a", "1"))))
			b.ready("web")
			if err := b.Client.RbacV1().RoleBindings(b.Namespace).Delete(t.Context(), "pequod", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			if drift {
				b.until("web", func(rg *v1alpha1.ResourceGraph) error {
					err := condition("Stalled", "True", "Forbidden", "pequod rbac generate")(rg)
					if err != nil { // the API server may still know the RoleBinding
						b.patch("v1", "ConfigMap", "a", "somebody", `{"data":{"a":"`+b.Unique("other")+`"}}`)
					}
					return err
				})
			}
			b.remove("web")
			b.until("web", condition("Stalled", "True", "DeletionFailed", "is forbidden"))
			if err := b.Client.CoreV1().ServiceAccounts(b.Namespace).Delete(t.Context(), "pequod", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			b.gone("web")
			b.wantExists(true, "v1", "ConfigMap", "a")
		})
	}
}

// If the account of a graph is in another namespace, it stays when the namespace of the graph is
// deleted, but its rights are gone. The objects of the graph go with the namespace, so that
// nothing waits for their deletion.
func TestNamespaceIsDeletedWithTheRights(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	account := b.transformAccount()
	b.options = controller.Options{Namespace: b.Namespace, Operator: &controller.Operator{
		Account: func(*v1alpha1.ResourceGraph) (types.NamespacedName, error) { return account, nil },
	}}
	b.start(b.Config)
	b.apply(operated(b.rendered("web", nodes(configMap("a", "a", "1")))))
	b.ready("web")
	// The object stays until the graph is gone, whatever the namespace controller does first.
	b.patch("v1", "ConfigMap", "a", "somebody", `{"metadata":{"finalizers":["example.com/hold"]}}`)
	if err := b.Client.RbacV1().RoleBindings(b.Namespace).Delete(t.Context(), "transform", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	b.remove("web")
	b.until("web", condition("Stalled", "True", "DeletionFailed", "is forbidden"))
	if err := b.Client.CoreV1().Namespaces().Delete(t.Context(), b.Namespace, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	b.gone("web")
	b.patch("v1", "ConfigMap", "a", "somebody", `{"metadata":{"finalizers":null}}`)
}

func TestObjectsOfOthers(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.apply(b.rendered("web", nodes(
		`{id: theirs, externalRef: {apiVersion: v1, kind: ConfigMap, name: theirs}, readyWhen: [{type: Expression, expr: "object.data.ready == 'yes'"}]}`,
		`{id: copy, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: copy}, data: {a: {$from: theirs.data.value}}}}`,
	)))
	b.until("web", condition("Ready", "Unknown", "Progressing", "doesn't exist"))
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "theirs"}, Data: map[string]string{"ready": "no", "value": "1"}}
	if _, err := b.Client.CoreV1().ConfigMaps(b.Namespace).Create(t.Context(), cm, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	b.until("web", func(rg *v1alpha1.ResourceGraph) error {
		if m := rg.Status.NodeStates["theirs"].Message; !strings.Contains(m, "is false") {
			return fmt.Errorf("theirs: %s", m)
		}
		return nil
	})
	b.patch("v1", "ConfigMap", "theirs", "somebody", `{"data":{"ready":"yes"}}`)
	b.ready("web")
	// Even at rest, what is read is followed.
	b.patch("v1", "ConfigMap", "theirs", "somebody", `{"data":{"value":"2"}}`)
	b.eventually("followed", func(ctx ctx) bool { return b.data(ctx, "copy") == "2" })
	b.remove("web")
	b.gone("web")
	b.wantExists(true, "v1", "ConfigMap", "theirs")
	b.wantExists(false, "v1", "ConfigMap", "copy")
}
