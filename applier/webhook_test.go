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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestWebhook has a webhook and an object that it admits in one graph. The webhook
// writes fields of its own, which aren't drift.
func TestWebhook(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		kind := admissionv1.PatchTypeJSONPatch
		review.Response = &admissionv1.AdmissionResponse{
			UID: review.Request.UID, Allowed: true, PatchType: &kind,
			Patch: []byte(`[{"op":"add","path":"/data/injected","value":"x"},{"op":"replace","path":"/data/a","value":"changed"}]`),
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(review)
	}))
	defer server.Close()
	ca := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	name := b.Unique("hook")
	t.Cleanup(func() {
		_ = b.Client.AdmissionregistrationV1().MutatingWebhookConfigurations().Delete(context.Background(), name, metav1.DeleteOptions{})
	})
	graph := b.graph("g", strings.NewReplacer("NAME", name, "URL", server.URL, "BUNDLE", ca).Replace(`
nodes:
- id: webhook
  resource:
    apiVersion: admissionregistration.k8s.io/v1
    kind: MutatingWebhookConfiguration
    metadata: {name: NAME}
    webhooks:
    - name: inject.example.com
      clientConfig: {url: URL, caBundle: BUNDLE}
      rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps]}]
      objectSelector: {matchLabels: {inject: "true"}}
      namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: TEST-NS}}
      sideEffects: None
      admissionReviewVersions: [v1]
- {id: c, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: c, labels: {inject: "true"}}, data: {a: ours}}, dependencies: [webhook]}
`))
	b.complete(graph)
	b.wantOrder("webhook", "c")
	// The API server takes a moment to call a new webhook.
	b.patch("v1", "ConfigMap", "c", "other-manager", `{"data":{"b":"x"}}`)
	b.eventually("it is admitted", func(context.Context) bool {
		b.patch("v1", "ConfigMap", "c", "other-manager", `{"metadata":{"annotations":{"touched":"`+b.Unique("x")+`"}}}`)
		return b.value("v1", "ConfigMap", "c", "data.injected") == "x"
	})
	b.complete(graph)
	b.wantOps(b.complete(graph), "webhook unchanged, c unchanged")
	b.wantValue("v1", "ConfigMap", "c", "data.injected", "x")
}
