package roles_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/rbac"
	"github.com/pequod-io/pequod/operator/roles"
)

// TestManaged grants what a Transform lists, and what finding causes of failures needs.
func TestManaged(t *testing.T) {
	rule := func(group string, resources []string, verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: verbs}
	}
	write := []string{"get", "list", "watch", "create", "patch", "delete"}
	for _, test := range []struct {
		name  string
		given []v1alpha1.ManagedResource
		want  []rbacv1.PolicyRule
	}{
		{"workload", []v1alpha1.ManagedResource{{APIGroup: "apps", Resources: []string{"deployments"}}}, []rbacv1.PolicyRule{
			rule("apps", []string{"deployments"}, write...), rule("", []string{"events", "pods"}, "list"), rule("apps", []string{"replicasets"}, "list"),
		}},
		{"ready at once", []v1alpha1.ManagedResource{{Resources: []string{"configmaps", "secrets"}}}, []rbacv1.PolicyRule{
			rule("", []string{"configmaps", "secrets"}, write...),
		}},
		{"other kind", []v1alpha1.ManagedResource{{APIGroup: "example.org", Resources: []string{"queues", "queues/status"}, Verbs: []string{"patch"}}}, []rbacv1.PolicyRule{
			rule("example.org", []string{"queues", "queues/status"}, "patch"), rule("", []string{"events"}, "list"),
		}},
		{"only read", []v1alpha1.ManagedResource{{APIGroup: "apps", Resources: []string{"deployments"}, Verbs: []string{"get"}}}, []rbacv1.PolicyRule{
			rule("apps", []string{"deployments"}, "get"),
		}},
	} {
		if diff := cmp.Diff(test.want, roles.Managed(test.given)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// TestForManager reads the ClusterRole of a message: the manager gets the rules by its label.
func TestForManager(t *testing.T) {
	rules := []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}}}
	text := roles.ForManager("database", rules)
	var role rbacv1.ClusterRole
	if err := yaml.UnmarshalStrict([]byte(text), &role); err != nil || strings.Contains(text, "\n") {
		t.Fatalf("%v: %s", err, text)
	}
	if diff := cmp.Diff(rules, role.Rules); diff != "" || role.Kind != "ClusterRole" || role.Labels["pequod.io/aggregate-to-manager"] != "true" || role.Name != "pequod-manager-database" {
		t.Errorf("%s (-want +got):\n%s", text, diff)
	}
}

// TestInvented grants rights on the kinds that a module writes, also if they are called like samples,
// and those on the usual kinds instead of kinds that samples invent.
func TestInvented(t *testing.T) {
	known := schema.GroupKind{Group: "shop.example.org", Kind: "ExampleThing"}
	for _, test := range []struct {
		name, node      string
		usual           bool // the rules have the usual kinds
		things, unknown bool
	}{
		{"written", `{"id": "first", "resource": {"apiVersion": "shop.example.org/v1", "kind": "ExampleThing", "metadata": {"name": "a"}}}`, false, true, false},
		{"unknown", `{"id": "first", "resource": {"apiVersion": "shop.example.org/v1", "kind": "Other", "metadata": {"name": "a"}}}`, false, false, true},
		{"unknown, read", `{"id": "first", "externalRef": {"apiVersion": "shop.example.org/v1", "kind": "ExampleOther", "name": "a"}}`, false, false, true},
		{"invented", `{"id": "first", "externalRef": {"apiVersion": "unspecified/v1", "kind": "UNSPECIFIED", "name": "a"}}`, true, false, false},
		{"role", `{"id": "first", "resource": {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "a"},
			"rules": [{"apiGroups": ["shop.example.org"], "resources": ["examplethings", "unspecified"], "verbs": ["get"]}]}}`, true, false, false},
	} {
		sample := &v1alpha1.ResourceGraph{ObjectMeta: metav1.ObjectMeta{Namespace: "example", Name: "sample"}}
		config := `{"id": "config", "resource": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}}`
		if err := yaml.Unmarshal([]byte("["+config+","+test.node+"]"), &sample.Spec.Graph.Nodes); err != nil {
			t.Fatal(err)
		}
		needs, err := roles.Seen([]*v1alpha1.ResourceGraph{sample}, v1alpha1.DeletionDelete, func(kind schema.GroupKind) (rbac.Resource, error) {
			if kind != known {
				return rbac.Resource{}, errors.New("unknown")
			}
			return rbac.Resource{Name: "examplethings", Namespaced: true}, nil
		})
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		has := func(resource string) bool {
			return slices.ContainsFunc(needs.Rules, func(r rbacv1.PolicyRule) bool { return slices.Contains(r.Resources, resource) })
		}
		if has("deployments") != test.usual || has("examplethings") != test.things || !has("configmaps") || (len(needs.Unknown) > 0) != test.unknown {
			t.Errorf("%s: %+v", test.name, needs)
		}
	}
}
