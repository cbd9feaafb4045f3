package applier_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// admission creates manifests of admission control and waits until check is
// denied. In the manifests, NAME is unique and TEST-NS is the test's namespace.
func (b *env) admission(kinds, manifests string, check func(context.Context) error) {
	b.t.Helper()
	name := b.Unique("denial")
	b.Apply(b.t, strings.NewReplacer("NAME", name, "TEST-NS", b.Namespace).Replace(manifests))
	b.t.Cleanup(func() {
		for _, kind := range strings.Split(kinds, ",") {
			if err := b.resource("admissionregistration.k8s.io/v1", kind).Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
				b.t.Error(err)
			}
		}
	})
	b.eventually("denials of "+name, func(ctx context.Context) bool {
		err := check(ctx)
		return err != nil && strings.Contains(err.Error(), name)
	})
}

// policy creates a policy that denies an operation on a resource of the test's
// namespace unless an expression is true.
func (b *env) policy(operation, group, resource, expression, message string, check func(context.Context) error) {
	b.t.Helper()
	b.admission("ValidatingAdmissionPolicy,ValidatingAdmissionPolicyBinding", strings.NewReplacer(
		"OPERATION", operation, "GROUP", group, "RESOURCE", resource, "EXPRESSION", expression, "MESSAGE", message).Replace(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: NAME}
spec:
  failurePolicy: Fail
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: TEST-NS}}
    resourceRules: [{apiGroups: ["GROUP"], apiVersions: [v1], operations: [OPERATION], resources: [RESOURCE]}]
  validations: [{expression: "EXPRESSION", message: "MESSAGE"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: NAME}
spec: {policyName: NAME, validationActions: [Deny]}
`), check)
}

// touch returns a function that changes a ConfigMap in a dry run.
func (b *env) touch(name string) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := b.resource("v1", "ConfigMap").Patch(ctx, name, types.MergePatchType, []byte(`{"data":{"touched":"x"}}`),
			metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
}

// A change freeze uses the words of an immutable field, and the status code. The
// object must not be deleted to get round it.
func TestDenialIsNoImmutability(t *testing.T) {
	t.Parallel()
	const graph = `
nodes:
- {id: c, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {v: "1"}}, applyPolicy: {recreate: OnImmutable}}
`
	changed := strings.Replace(graph, `"1"`, `"2"`, 1)
	const message = "data cannot be changed during the freeze: field is immutable"
	t.Run("policy", func(t *testing.T) {
		t.Parallel()
		b := newEnv(t)
		b.complete(b.graph("g", graph))
		uid := b.Get(t, "v1", "ConfigMap", "c").GetUID()
		b.policy("UPDATE", "", "configmaps", "request.name != 'c'", message, b.touch("c"))
		b.stuck(b.graph("g", changed), "c", "Denied", message)
		if got := b.Get(t, "v1", "ConfigMap", "c").GetUID(); got != uid {
			t.Error("the ConfigMap was recreated")
		}
	})
	t.Run("webhook", func(t *testing.T) {
		t.Parallel()
		b := newEnv(t)
		b.complete(b.graph("g", graph))
		uid := b.Get(t, "v1", "ConfigMap", "c").GetUID()
		server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var review admissionv1.AdmissionReview
			if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, review.Request.Name, nil).ErrStatus
			invalid.Message = message
			invalid.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeForbidden, Field: "data", Message: message}}
			review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Result: &invalid}
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(review)
		}))
		t.Cleanup(server.Close)
		ca := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
		b.admission("ValidatingWebhookConfiguration", strings.NewReplacer("URL", server.URL, "BUNDLE", ca).Replace(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: NAME}
webhooks:
- name: NAME.example.com
  clientConfig: {url: URL, caBundle: BUNDLE}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [UPDATE], resources: [configmaps]}]
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: TEST-NS}}
  matchConditions: [{name: c, expression: request.name == 'c'}]
  sideEffects: None
  admissionReviewVersions: [v1]
`), b.touch("c"))
		b.stuck(b.graph("g", changed), "c", "Denied", message)
		if got := b.Get(t, "v1", "ConfigMap", "c").GetUID(); got != uid {
			t.Error("the ConfigMap was recreated")
		}
	})
}

// An object that may not be created again isn't deleted.
func TestRecreateNeedsCreation(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	graph := "nodes:" + deployment + "  applyPolicy: {recreate: OnImmutable}\n"
	b.complete(b.graph("g", graph))
	uid := b.Get(t, "apps/v1", "Deployment", "web").GetUID()
	changed := b.graph("g", strings.ReplaceAll(graph, "app: web", "app: other"))
	b.policy("CREATE", "apps", "deployments", "!has(object.spec.selector.matchLabels.app) || object.spec.selector.matchLabels.app != 'other'",
		"no such app", func(ctx context.Context) error {
			spec := map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"app": "other"}}, "template": map[string]any{
				"metadata": map[string]any{"labels": map[string]any{"app": "other"}},
				"spec":     map[string]any{"containers": []any{map[string]any{"name": "x", "image": "x"}}},
			}}
			probe := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "probe"}, "spec": spec,
			}}
			_, err := b.resource("apps/v1", "Deployment").Create(ctx, probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			return err
		})
	b.stuck(changed, "web", "Denied", "isn't deleted to recreate it, because its creation is refused: ")
	if got := b.Get(t, "apps/v1", "Deployment", "web").GetUID(); got != uid {
		t.Error("the Deployment was recreated")
	}
}

// A Service that holds an address and a port can be recreated with the same port.
func TestRecreateService(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	const graph = `
nodes:
- id: s
  resource: {apiVersion: v1, kind: Service, metadata: {name: s}, spec: {type: NodePort, ports: [{port: 80, nodePort: PORT}], IP}}
  applyPolicy: {recreate: OnImmutable}
`
	first := b.Apply(t, `{apiVersion: v1, kind: Service, metadata: {name: free}, spec: {type: NodePort, ports: [{port: 80}]}}`)[0]
	ports, _, _ := unstructured.NestedSlice(first.Object, "spec", "ports")
	ip, _, _ := unstructured.NestedString(first.Object, "spec", "clusterIP")
	raw, _ := json.Marshal(ports[0].(map[string]any)["nodePort"])
	if err := b.resource("v1", "Service").Delete(t.Context(), "free", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(graph, "PORT", string(raw), 1)
	b.complete(b.graph("g", strings.Replace(text, ", IP", "", 1)))
	b.wantOps(b.complete(b.graph("g", strings.Replace(text, "IP", "clusterIP: "+ip, 1))), "s recreated")
}
