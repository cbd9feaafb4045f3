package hostile

import (
	"context"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/test/harness"
)

// hangs is the label of objects for which the webhook never answers.
const hangs = "hangs"

// Prepare creates what [Graphs] need in the test's namespace: service accounts, the
// objects that they read, and a webhook that never answers.
func Prepare(t testing.TB, c *harness.Cluster) {
	t.Helper()
	Account(t, c)
	released := make(chan struct{})
	hook := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-released:
		}
	}))
	t.Cleanup(func() {
		close(released)
		hook.Close()
	})
	Unanswered(t, c, hook.URL, hook.Certificate().Raw, "CREATE", "UPDATE")
	for i := range graph.MaxExternalRefs / 2 { // the others don't exist
		c.Apply(t, fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: %s-0-%d}, data: {a: %s}}", External, i, strings.Repeat("a", 50_000)))
	}
	// One of the graphs that read each other begins.
	c.Apply(t, fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: %s-0}}", Mutual))
}

// Unanswered makes the API server call a webhook for operations on the objects of the
// graphs of sort [Hanging] in the test's namespace. Certificate is that of its authority,
// nil if there is nothing at the address.
func Unanswered(t testing.TB, c *harness.Cluster, url string, certificate []byte, operations ...string) {
	t.Helper()
	name, authority := c.Unique("hangs"), ""
	if certificate != nil {
		authority = base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}))
	}
	c.Apply(t, fmt.Sprintf(webhook, name, url, authority, strings.Join(operations, ", "), hangs, c.Namespace))
	t.Cleanup(func() {
		hooks := c.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
		if err := hooks.Delete(context.WithoutCancel(t.Context()), name, metav1.DeleteOptions{}); err != nil {
			t.Log(err)
		}
	})
}

// Account creates the service account of the graphs in the test's namespace, which
// may do anything there, and another one without rights.
func Account(t testing.TB, c *harness.Cluster) {
	t.Helper()
	c.Apply(t, fmt.Sprintf(accounts, c.Namespace, Weak))
}

const accounts = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: pequod}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: %[2]s}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: pequod}
rules:
- {apiGroups: ["*"], resources: ["*"], verbs: ["*"]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: pequod}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: pequod}
subjects: [{kind: ServiceAccount, name: pequod, namespace: %[1]s}]
`

const webhook = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: %s}
webhooks:
- name: hangs.example.com
  clientConfig: {url: "%s", caBundle: "%s"}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [%s], resources: [configmaps]}]
  objectSelector: {matchLabels: {%s: "true"}}
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %s}}
  timeoutSeconds: 30
  failurePolicy: Fail
  sideEffects: None
  admissionReviewVersions: [v1]
`

// Apply applies a graph as kubectl apply --server-side does.
func Apply(t testing.TB, c *harness.Cluster, rg *v1alpha1.ResourceGraph) {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(rg)
	if err != nil {
		t.Fatal(err)
	}
	delete(content, "status")
	delete(content["metadata"].(map[string]any), "creationTimestamp")
	_, err = c.Dynamic.Resource(v1alpha1.GroupVersion.WithResource("resourcegraphs")).Namespace(rg.Namespace).
		Apply(t.Context(), rg.Name, &unstructured.Unstructured{Object: content}, metav1.ApplyOptions{FieldManager: "tenant", Force: true})
	if err != nil {
		t.Fatalf("graph %s: %v", rg.Name, err)
	}
}

// Disturb does what the tenant does besides until the test ends. It deletes the
// object of the graph of sort [Deleted] and changes those of sort [Readiness] fifty
// times a second, and once a second changes what expensive expressions read.
func Disturb(t testing.TB, c *harness.Cluster) {
	objects := c.Client.CoreV1().ConfigMaps(c.Namespace)
	stopped := make(chan struct{})
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	t.Cleanup(func() {
		stop()
		<-stopped
	})
	// The objects may not exist at the moment, so errors are expected.
	disturb := func(round int, sort Sort, name string) {
		patch := fmt.Sprintf(`{"metadata":{"annotations":{"round":"%d"}}}`, round)
		switch {
		case sort == Deleted:
			_ = objects.Delete(ctx, name, metav1.DeleteOptions{})
		case sort == Readiness:
			_, _ = objects.Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		case round%50 == 0 && (sort == Evaluation || sort == Compilation || sort == Values):
			_, _ = objects.Patch(ctx, name+"-cm", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		}
	}
	go func() {
		defer close(stopped)
		for round := 0; ctx.Err() == nil; round++ {
			for _, m := range mix {
				for i := range m.graphs {
					disturb(round, m.Sort, fmt.Sprintf("%s-%d", m.Sort, i))
				}
			}
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
}
