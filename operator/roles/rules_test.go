package roles_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/api/v1alpha1"
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
