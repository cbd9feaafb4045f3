package gitops

import (
	"context"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/test/harness"
)

// flux returns clusters/flux.yaml of docs/gitops.md for the repository, with replacements. Flux repeats what
// failed after 5 seconds.
func (r *repository) flux(t *testing.T, replacements ...string) string {
	t.Helper()
	return documented(t, "clusters/flux.yaml", append(replacements,
		"https://git.example.com/shop/deploy", r.url, "interval: 10m", "interval: 10m\n  retryInterval: 5s")...)
}

// condition returns a condition of an object.
func condition(o *unstructured.Unstructured, kind string) (status, reason, message string) {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		if c := c.(map[string]any); c["type"] == kind {
			return c["status"].(string), c["reason"].(string), c["message"].(string)
		}
	}
	return "", "", ""
}

// applied returns the revision that a Kustomization has applied last. It is empty if there is none.
func applied(k *unstructured.Unstructured) string {
	revision, _, _ := unstructured.NestedString(k.Object, "status", "lastAppliedRevision")
	return revision
}

// fails waits until a Kustomization has failed for a reason, with a message that contains all words.
func (e *env) fails(t *testing.T, name, reason string, words ...string) (k *unstructured.Unstructured) {
	t.Helper()
	client := e.Await(t, kustomizations, "Kustomization", runtime)
	harness.Eventually(t, patience, func(ctx context.Context) (err error) {
		if k, err = client.Get(ctx, name, metav1.GetOptions{}); err != nil {
			return err
		}
		status, got, message := condition(k, "Ready")
		if status != "False" || got != reason {
			return fmt.Errorf("want %s: %v", reason, k.Object["status"])
		}
		for _, w := range words {
			if !strings.Contains(message, w) {
				return fmt.Errorf("%q is not in the message: %s", w, message)
			}
		}
		return nil
	})
	return k
}

// handled requests a reconciliation of a Kustomization, and waits until it has ended.
func (e *env) handled(t *testing.T, name string) (k *unstructured.Unstructured) {
	t.Helper()
	token := e.request(t, kustomizations, "Kustomization", runtime, name)
	client := e.Await(t, kustomizations, "Kustomization", runtime)
	harness.Eventually(t, patience, func(ctx context.Context) (err error) {
		if k, err = client.Get(ctx, name, metav1.GetOptions{}); err != nil {
			return err
		}
		if last, _, _ := unstructured.NestedString(k.Object, "status", "lastHandledReconcileAt"); last != token {
			return fmt.Errorf("handled %q, want %q: %v", last, token, k.Object["status"])
		}
		return nil
	})
	return k
}
