package reaction

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// TestPolicyOf finds the node of an object by its group, kind, name and namespace, in any version.
func TestPolicyOf(t *testing.T) {
	t.Parallel()
	g := &v1alpha1.ResourceGraph{}
	g.Namespace = "shop"
	for manager, raw := range map[string]string{
		"of apps":      `{"apiVersion": "apps/v1beta1", "kind": "Deployment", "metadata": {"name": "web"}}`,
		"of others":    `{"apiVersion": "example.com/v1", "kind": "Deployment", "metadata": {"name": "web"}}`,
		"of elsewhere": `{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "other"}}`,
	} {
		g.Spec.Graph.Nodes = append(g.Spec.Graph.Nodes, v1alpha1.Node{
			Resource: &runtime.RawExtension{Raw: []byte(raw)}, ApplyPolicy: &v1alpha1.ApplyPolicy{FieldManager: manager},
		})
	}
	for _, test := range []struct{ apiVersion, namespace, name, want string }{
		{"apps/v1", "shop", "web", "of apps"},
		{"example.com/v1alpha1", "shop", "web", "of others"},
		{"apps/v1", "other", "web", "of elsewhere"},
		{"example.org/v1", "shop", "web", ""},
		{"apps/v1", "third", "web", ""},
		{"apps/v1", "shop", "worker", ""},
	} {
		live := &unstructured.Unstructured{}
		live.SetAPIVersion(test.apiVersion)
		live.SetKind("Deployment")
		live.SetNamespace(test.namespace)
		live.SetName(test.name)
		got := ""
		if policy := policyOf(g, live); policy != nil {
			got = policy.FieldManager
		}
		if got != test.want {
			t.Errorf("%v: policy %q", test, got)
		}
	}
}
