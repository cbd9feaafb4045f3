package graphs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/harness"
)

// fixture is a cluster with users of different rights.
type fixture struct {
	*harness.Cluster
	users map[string]authenticationv1.UserInfo
	other string // another namespace
}

// users are the roles of each user, as YAML of rules in the namespace. The names edit and
// cluster-admin are bindings of the roles of Kubernetes.
var users = map[string]string{
	"configmaps":   `[{apiGroups: [""], resources: [configmaps], verbs: [get, list, watch, create, patch, delete]}]`,
	"named":        `[{apiGroups: [""], resources: [configmaps], resourceNames: [web], verbs: [get, create, patch, delete]}]`,
	"nothing":      `[]`,
	"impersonator": `[{apiGroups: [""], resources: [serviceaccounts], resourceNames: [pequod], verbs: [impersonate]}]`,
	"constrained": `[
	  {apiGroups: [authentication.k8s.io], resources: [serviceaccounts], resourceNames: [pequod], verbs: ["impersonate:serviceaccount"]},
	  {apiGroups: [apps], resources: [deployments], verbs: ["impersonate-on:serviceaccount:get", "impersonate-on:serviceaccount:create", "impersonate-on:serviceaccount:patch", "impersonate-on:serviceaccount:delete"]},
	  {apiGroups: [rbac.authorization.k8s.io], resources: [rolebindings], verbs: ["impersonate-on:serviceaccount:get", "impersonate-on:serviceaccount:create", "impersonate-on:serviceaccount:patch", "impersonate-on:serviceaccount:delete"]}]`,
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	c := harness.Start(t)
	f := &fixture{c, map[string]authenticationv1.UserInfo{}, c.Unique("graphs-other")}
	var text strings.Builder
	fmt.Fprintf(&text, "{apiVersion: v1, kind: Namespace, metadata: {name: %s}}\n", f.other)
	for name, rules := range users {
		fmt.Fprintf(&text, `---
{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: %[1]s}, rules: %[2]s}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: %[1]s},
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: %[1]s}, subjects: [{kind: ServiceAccount, name: %[1]s, namespace: %[3]s}]}
`, name, rules, c.Namespace)
	}
	for name, kind := range map[string]string{"edit": "RoleBinding", "admin": "RoleBinding", "cluster-admin": "ClusterRoleBinding"} {
		fmt.Fprintf(&text, `---
{apiVersion: rbac.authorization.k8s.io/v1, kind: %[2]s, metadata: {name: %[4]s},
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %[1]s}, subjects: [{kind: ServiceAccount, name: %[1]s, namespace: %[3]s}]}
`, name, kind, c.Namespace, c.Unique(name))
	}
	c.Apply(t, text.String())
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = c.Client.CoreV1().Namespaces().Delete(ctx, f.other, metav1.DeleteOptions{})
		_ = c.Client.RbacV1().ClusterRoleBindings().Delete(ctx, c.Unique("cluster-admin"), metav1.DeleteOptions{})
	})
	for _, name := range []string{"configmaps", "named", "nothing", "impersonator", "constrained", "edit", "admin", "cluster-admin"} {
		client, err := kubernetes.NewForConfig(c.ServiceAccount(t, c.Namespace, name))
		if err != nil {
			t.Fatal(err)
		}
		review, err := client.AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		f.users[name] = review.Status.UserInfo
	}
	return f
}

// webhook returns a webhook that asks the API server by a configuration.
func (f *fixture) webhook(t testing.TB, config *rest.Config) *Webhook {
	t.Helper()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	w, err := New(config, client, "pequod")
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// raw returns a graph with nodes and other fields of the spec as the API server sends it.
func (f *fixture) raw(t testing.TB, spec, nodes string) runtime.RawExtension {
	t.Helper()
	if spec == "" {
		spec = "{}"
	}
	text := fmt.Sprintf("apiVersion: %s\nkind: ResourceGraph\nmetadata: {name: web, namespace: %s}\nspec: %s\n", v1alpha1.GroupVersion, f.Namespace, spec)
	object := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	var list []any
	if err := yaml.Unmarshal([]byte(strings.ReplaceAll(nodes, "OTHER", f.other)), &list); err != nil {
		t.Fatal(err)
	}
	object["spec"].(map[string]any)["graph"] = map[string]any{"nodes": list}
	data, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return runtime.RawExtension{Raw: data}
}

// request returns a request to create a graph, or to update old if it isn't empty.
func (f *fixture) request(user string, graph, old runtime.RawExtension) admission.Request {
	request := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		UID: "1", Operation: admissionv1.Create, UserInfo: f.users[user], Namespace: f.Namespace, Name: "web",
		Kind: metav1.GroupVersionKind{Group: v1alpha1.Group, Version: "v1alpha1", Kind: "ResourceGraph"}, Object: graph, OldObject: old,
	}}
	if old.Raw != nil {
		request.Operation = admissionv1.Update
	}
	return request
}

const (
	deployment = `{id: web, resource: {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {}}}`
	configmap  = `{id: settings, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: web}}}`
	second     = `{id: second, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: second}}}`
	elsewhere  = `{id: there, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: web, namespace: OTHER}}}`
	reads      = `{id: given, externalRef: {apiVersion: v1, kind: Secret, name: admin}}`
	binding    = `{id: bound, resource: {apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: web}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}}}`
	crd        = `{id: crd, resource: {apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: configmaps.graphs.example.com}, spec: {group: graphs.example.com, scope: Namespaced, names: {kind: Thing, plural: configmaps}}}}`
	thing      = `{id: thing, resource: {apiVersion: graphs.example.com/v1, kind: Thing, metadata: {name: web}}}`
)

// TestAuthors asks the real API server about the rights of real users.
func TestAuthors(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	w := f.webhook(t, f.Config)
	adopts := `{adopt: {resources: [{apiVersion: v1, kind: Secret, name: admin}]}}`
	many := func(n int, namespace string) string {
		var nodes []string
		for i := range n {
			nodes = append(nodes, fmt.Sprintf(`{id: n%d, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: web-%[1]d, namespace: %s}}}`, i, namespace))
		}
		return strings.Join(nodes, ", ")
	}
	for _, test := range []struct {
		name, user, spec, nodes string
		oldSpec, oldNodes       string // of an update
		message                 string // of the refusal, in part; "" if it is allowed
	}{
		{name: "who may edit may impersonate", user: "edit", nodes: deployment + "," + reads},
		{name: "of the namespace only", user: "edit", nodes: elsewhere},
		{name: "an account that is named", user: "edit", spec: `{serviceAccountName: root}`, nodes: elsewhere},
		{name: "own rights", user: "configmaps", nodes: configmap + "," + second},
		{name: "an account without rights", user: "configmaps", spec: `{serviceAccountName: root}`, nodes: configmap},
		{name: "rights by name", user: "named", nodes: configmap},
		{name: "other names", user: "named", nodes: configmap + "," + second, message: `node second: get configmaps/second -n NS, `},
		{name: "no rights", user: "nothing", nodes: configmap, message: `the rights of user "system:serviceaccount:NS:nothing" do not include what the nodes of the graph do: ` +
			`node settings: get configmaps/web -n NS, create configmaps/web -n NS, patch configmaps/web -n NS, delete configmaps/web -n NS ` +
			`(the right to impersonate serviceaccounts/pequod -n NS would suffice)`},
		{name: "another kind", user: "configmaps", nodes: configmap + "," + deployment, message: "node web: get deployments.apps/web -n NS"},
		{name: "another namespace", user: "configmaps", nodes: elsewhere, message: "node there: get configmaps/web -n OTHER"},
		{name: "a Secret that is only read", user: "configmaps", nodes: reads, message: "node given: get secrets/admin -n NS"},
		{name: "a Secret that is mirrored", user: "configmaps", spec: `{adopt: {strategy: Mirror, resources: [{apiVersion: v1, kind: Secret, name: admin}]}}`,
			nodes: `{id: given, resource: {apiVersion: v1, kind: Secret, metadata: {name: admin}}}`, message: "get secrets/admin -n NS, list secrets/admin -n NS, watch secrets/admin -n NS ("},
		{name: "another cluster", user: "edit", spec: `{kubeConfig: {secretRef: {name: prod}}}`, nodes: thing},
		{name: "another cluster, without the right to its Secret", user: "configmaps", spec: `{kubeConfig: {secretRef: {name: prod}}}`, nodes: configmap,
			message: "what the nodes of the graph do: spec.kubeConfig: get secrets/prod -n NS ("},
		{name: "impersonation", user: "impersonator", nodes: deployment + "," + elsewhere},
		{name: "impersonation of another account", user: "impersonator", spec: `{serviceAccountName: root}`, nodes: configmap,
			message: "(the right to impersonate serviceaccounts/root -n NS would suffice)"},
		{name: "constrained impersonation", user: "constrained", nodes: deployment},
		{name: "constrained impersonation, with what is demanded of the account", user: "constrained", nodes: deployment + "," + binding},
		{name: "constrained impersonation of other verbs", user: "constrained", nodes: configmap, message: "impersonate-on:serviceaccount:create configmaps/web -n NS"},
		{name: "constrained impersonation of another account", user: "constrained", spec: `{serviceAccountName: root}`, nodes: deployment, message: "create deployments.apps/web"},
		{name: "a cluster administrator", user: "cluster-admin", spec: `{serviceAccountName: root}`, nodes: deployment + "," + binding + "," + crd + "," + thing},
		{name: "a binding", user: "configmaps", nodes: binding, message: "bind clusterroles.rbac.authorization.k8s.io/cluster-admin -n NS"},
		{name: "a kind that the graph defines", user: "configmaps", nodes: crd + "," + thing,
			message: "get customresourcedefinitions.apiextensions.k8s.io/configmaps.graphs.example.com"},
		{name: "a kind that nothing defines", user: "configmaps", nodes: thing,
			message: "cannot be compared with what the nodes of the graph do: node thing: the resource of kind Thing.graphs.example.com isn't known"},
		{name: "an invalid graph", user: "cluster-admin", nodes: `{id: web, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: web}}, dependencies: [wbe]}`,
			message: `the graph is invalid: node web: dependencies[0]: no node "wbe"`},
		{name: "as many objects as a graph may have", user: "configmaps", nodes: many(2500, f.Namespace)},
		{name: "many objects in another namespace", user: "configmaps", nodes: many(2500, "OTHER"), message: "node n0: get configmaps -n OTHER"},

		{name: "an update of nothing", user: "nothing", nodes: deployment, oldNodes: deployment},
		{name: "an update after the creation", user: "configmaps", nodes: configmap + "," + deployment, oldNodes: configmap, message: "create deployments.apps/web"},
		{name: "a node is dropped", user: "configmaps", nodes: configmap, oldNodes: configmap + "," + deployment, message: "node web: delete deployments.apps/web -n NS ("},
		{name: "a node is dropped by its author", user: "configmaps", nodes: configmap, oldNodes: configmap + "," + second},
		{name: "a node is dropped whose object stays", user: "configmaps", spec: `{deletionPolicy: Orphan}`, nodes: configmap,
			oldSpec: `{deletionPolicy: Orphan}`, oldNodes: configmap + "," + deployment},
		{name: "a node is dropped, and the policy changed", user: "configmaps", nodes: configmap,
			oldSpec: `{deletionPolicy: Orphan}`, oldNodes: configmap + "," + deployment, message: "delete deployments.apps/web"},
		{name: "a node is dropped whose kind isn't served", user: "configmaps", nodes: configmap, oldNodes: configmap + "," + thing},
		{name: "another account", user: "nothing", spec: `{serviceAccountName: root}`, nodes: configmap, oldNodes: configmap, message: "create configmaps/web"},
		{name: "adoption", user: "nothing", spec: adopts, nodes: configmap, oldNodes: configmap, message: "create configmaps/web"},
		{name: "the deletion policy", user: "nothing", nodes: configmap, oldSpec: `{deletionPolicy: Orphan}`, oldNodes: configmap, message: "delete configmaps/web"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var old runtime.RawExtension
			if test.oldNodes != "" {
				old = f.raw(t, test.oldSpec, "["+test.oldNodes+"]")
			}
			response := w.Handle(t.Context(), f.request(test.user, f.raw(t, test.spec, "["+test.nodes+"]"), old))
			want := strings.NewReplacer("NS", f.Namespace, "OTHER", f.other).Replace(test.message)
			switch {
			case test.message == "" && !response.Allowed:
				t.Errorf("refused: %s", response.Result.Message)
			case test.message != "" && response.Allowed:
				t.Error("allowed")
			case test.message != "" && !strings.Contains(response.Result.Message, want):
				t.Errorf("%s\nwant %s", response.Result.Message, want)
			}
		})
	}
}

// TestRightsThatAreGranted holds that a right that was granted helps soon.
func TestRightsThatAreGranted(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	w := f.webhook(t, f.Config)
	request := f.request("nothing", f.raw(t, "", "["+configmap+"]"), runtime.RawExtension{})
	if w.Handle(t.Context(), request).Allowed {
		t.Fatal("allowed without rights")
	}
	f.Apply(t, fmt.Sprintf(`{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: more},
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: configmaps}, subjects: [{kind: ServiceAccount, name: nothing, namespace: %s}]}`, f.Namespace))
	harness.Eventually(t, time.Minute, func(ctx context.Context) error {
		if response := w.Handle(ctx, request); !response.Allowed {
			return errors.New(response.Result.Message)
		}
		return nil
	})
}

// TestGraphsOfTheManager holds that the account of a graph is not the default one if
// pequod-manager executes it, and that a label that makes it do so is a change.
func TestGraphsOfTheManager(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	w := f.webhook(t, f.Config)
	graph := f.raw(t, "", "["+elsewhere+"]")
	if response := w.Handle(t.Context(), f.request("impersonator", graph, runtime.RawExtension{})); !response.Allowed {
		t.Error(response.Result.Message)
	}
	labelled := runtime.RawExtension{Raw: []byte(strings.Replace(string(graph.Raw), `"metadata":{`, `"metadata":{"labels":{"`+v1alpha1.LabelOperator+`":"true"},`, 1))}
	for _, old := range []runtime.RawExtension{{}, graph} {
		response := w.Handle(t.Context(), f.request("impersonator", labelled, old))
		if response.Allowed || !strings.Contains(response.Result.Message, "get configmaps/web -n "+f.other) {
			t.Errorf("%+v", response.Result)
		}
	}
}

// TestReviewsFail holds that a request is refused with the cause if the API server doesn't
// answer reviews, and that it does not hang.
func TestReviewsFail(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	proxy := f.Proxy(t, 1)
	w := f.webhook(t, proxy.Config(f.Config))
	request := f.request("configmaps", f.raw(t, "", "["+configmap+"]"), runtime.RawExtension{})
	if err := proxy.Down(); err != nil {
		t.Fatal(err)
	}
	response := w.Handle(t.Context(), request)
	if want := "could not be checked; try again: asking whether the user may impersonate serviceaccounts/pequod -n " + f.Namespace + ": "; response.Allowed ||
		response.Result.Code != http.StatusInternalServerError || !strings.Contains(response.Result.Message, want) {
		t.Errorf("%+v", response.Result)
	}
	if err := proxy.Up(); err != nil {
		t.Fatal(err)
	}
	proxy.Inject(faults.Rule{Faults: []faults.Fault{faults.Hang{}}})
	began := time.Now()
	response = w.Handle(t.Context(), request)
	if response.Allowed || response.Result.Code != http.StatusGatewayTimeout || time.Since(began) < timeout/2 {
		t.Errorf("%+v", response.Result)
	}
}

// TestNoRightToAsk holds the message of a webhook whose role is missing.
func TestNoRightToAsk(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	w := f.webhook(t, f.ServiceAccount(t, f.Namespace, "nothing"))
	response := w.Handle(t.Context(), f.request("configmaps", f.raw(t, "", "["+configmap+"]"), runtime.RawExtension{}))
	if response.Allowed || !strings.Contains(response.Result.Message, `cannot create resource "subjectaccessreviews"`) {
		t.Errorf("%+v", response.Result)
	}
}

// TestOtherRequests holds what isn't checked, and what isn't a request to write a graph.
func TestOtherRequests(t *testing.T) {
	w := &Webhook{}
	for _, test := range []struct {
		request admissionv1.AdmissionRequest
		code    int32
	}{
		{admissionv1.AdmissionRequest{Operation: admissionv1.Delete}, http.StatusOK},
		{admissionv1.AdmissionRequest{Operation: admissionv1.Update, SubResource: "status"}, http.StatusOK},
		{admissionv1.AdmissionRequest{Operation: admissionv1.Create, Kind: metav1.GroupVersionKind{Kind: "Pod", Version: "v1"}}, http.StatusBadRequest},
		{admissionv1.AdmissionRequest{Operation: admissionv1.Create, Kind: metav1.GroupVersionKind{Group: v1alpha1.Group, Kind: "ResourceGraph"},
			Object: runtime.RawExtension{Raw: []byte("[")}}, http.StatusBadRequest},
	} {
		if response := w.Handle(t.Context(), admission.Request{AdmissionRequest: test.request}); response.Result.Code != test.code || response.Allowed != (test.code == http.StatusOK) {
			t.Errorf("%+v: %+v", test.request, response.Result)
		}
	}
}
