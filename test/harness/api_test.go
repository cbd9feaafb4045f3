package harness_test

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/pequod-io/pequod/test/harness"
)

func TestCustomResource(t *testing.T) {
	t.Parallel()
	c := start(t)
	group := c.Unique("g") + ".example.org"
	objects := c.Apply(t, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: databases.`+group+`}
spec:
  group: `+group+`
  names: {kind: Database, plural: databases}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: integer, default: 3}}}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
---
apiVersion: `+group+`/v1
kind: Database
metadata: {name: main}
spec: {}
`)
	t.Cleanup(func() {
		definitions, err := c.Resource("apiextensions.k8s.io/v1", "CustomResourceDefinition", "")
		if err == nil {
			err = definitions.Delete(context.Background(), "databases."+group, metav1.DeleteOptions{})
		}
		if err != nil {
			t.Error(err)
		}
	})
	if size, _, _ := unstructured.NestedInt64(objects[1].Object, "spec", "size"); size != 3 {
		t.Errorf("size is %d: the schema's default is missing", size)
	}
	c.SetStatus(t, group+"/v1", "Database", "main", map[string]any{"phase": "Ready"})
	main := c.Get(t, group+"/v1", "Database", "main")
	if phase, _, _ := unstructured.NestedString(main.Object, "status", "phase"); phase != "Ready" {
		t.Errorf("phase is %q", phase)
	}
}

// TestAwait checks that the harness waits for a kind that another client defines.
func TestAwait(t *testing.T) {
	t.Parallel()
	c := start(t)
	group := c.Unique("g") + ".example.org"
	definitions, err := c.Resource("apiextensions.k8s.io/v1", "CustomResourceDefinition", "")
	if err != nil {
		t.Fatal(err)
	}
	definition := map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "lates." + group},
		"spec": map[string]any{
			"group": group, "scope": "Namespaced", "names": map[string]any{"kind": "Late", "plural": "lates"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}},
			}},
		},
	}
	if _, err := definitions.Create(t.Context(), &unstructured.Unstructured{Object: definition}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := definitions.Delete(context.Background(), "lates."+group, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	// The definition isn't established yet.
	c.Apply(t, `{apiVersion: `+group+`/v1, kind: Late, metadata: {name: main}}`)
	c.Get(t, group+"/v1", "Late", "main")
}

func TestServerSideApplyConflict(t *testing.T) {
	t.Parallel()
	c := start(t)
	c.Apply(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: shared}, data: {owner: harness}}`)
	maps, err := c.Resource("v1", "ConfigMap", "")
	if err != nil {
		t.Fatal(err)
	}
	theirs := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": "shared"},
		"data":     map[string]any{"owner": "somebody"},
	}}
	_, err = maps.Apply(t.Context(), "shared", theirs, metav1.ApplyOptions{FieldManager: "somebody"})
	if !apierrors.IsConflict(err) || !strings.Contains(err.Error(), `conflict with "harness": .data.owner`) {
		t.Errorf("error %v", err)
	}
	if _, err := maps.Apply(t.Context(), "shared", theirs, metav1.ApplyOptions{FieldManager: "somebody", Force: true}); err != nil {
		t.Error(err)
	}
}

// A webhook is an HTTPS server in the test, which the API server calls by URL.
func TestWebhook(t *testing.T) {
	t.Parallel()
	c := start(t)
	webhook := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		review.Response = &admissionv1.AdmissionResponse{
			UID:     review.Request.UID,
			Allowed: review.Request.Name != "forbidden",
			Result:  &metav1.Status{Message: "not while I am on watch"},
		}
		json.NewEncoder(w).Encode(review)
	}))
	webhook.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	webhook.StartTLS()
	defer webhook.Close()
	ca := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: webhook.Certificate().Raw}))
	name := c.Unique("guard")
	c.Apply(t, `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: `+name+`}
webhooks:
- name: guard.example.org
  clientConfig: {url: "`+webhook.URL+`", caBundle: `+ca+`}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: `+c.Namespace+`}}
  sideEffects: None
  admissionReviewVersions: [v1]
`)
	defer func() {
		err := c.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Delete(context.Background(), name, metav1.DeleteOptions{})
		if err != nil {
			t.Error(err)
		}
	}()
	maps, err := c.Resource("v1", "ConfigMap", "")
	if err != nil {
		t.Fatal(err)
	}
	create := func(ctx context.Context, name string) error {
		_, err := maps.Create(ctx, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name},
		}}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
	// The API server needs a moment to learn of the webhook.
	harness.Eventually(t, patience, func(ctx context.Context) error {
		err := create(ctx, "forbidden")
		if err != nil && strings.Contains(err.Error(), "not while I am on watch") {
			return nil
		}
		return fmt.Errorf("it was admitted (error: %v)", err)
	})
	if err := create(t.Context(), "allowed"); err != nil {
		t.Error(err)
	}
}

func TestServiceAccount(t *testing.T) {
	t.Parallel()
	c := start(t)
	c.Apply(t, `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects: [{kind: ServiceAccount, name: reader}]
`)
	path := c.WriteKubeconfig(t, c.ServiceAccount(t, c.Namespace, "reader"))
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	reader, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, patience, func(ctx context.Context) error {
		_, err := reader.CoreV1().ConfigMaps(c.Namespace).List(ctx, metav1.ListOptions{})
		return err
	})
	_, err = reader.CoreV1().Secrets(c.Namespace).List(t.Context(), metav1.ListOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("secrets: %v", err)
	}
	if _, err := reader.CoreV1().ConfigMaps("kube-system").List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("another namespace: %v", err)
	}
}
