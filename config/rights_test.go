package config_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/config"
)

// TestNarrow holds that the programs write, by their own rights, only what is their own. The
// rights follow from the bindings of their accounts. TestGrants has those that are aggregated.
func TestNarrow(t *testing.T) {
	want := []string{
		"pequod-system leases create",
		"pequod-system leases get update", // of one name
		"* resourcegraphs get list patch watch",
		"* resourcegraphs/status patch",
		"* customresourcedefinitions get list",
		"* events create patch",
		"* serviceaccounts get impersonate",
		"* tokenreviews create",
		"* subjectaccessreviews create",
		"* serviceaccounts list watch", // who lacks rights is tried again when they come
		"* roles list watch",
		"* rolebindings list watch",
		"* clusterroles list watch",
		"* clusterrolebindings list watch",
	}
	got := bound(t, config.Applier, "pequod-applier")
	if diff := cmp.Diff(want, got, anyOrder); diff != "" {
		t.Errorf("what the applier may do itself (-want +got):\n%s", diff)
	}
	want = []string{
		"pequod-system serviceaccounts create delete patch",
		"pequod-system roles escalate", // of one name, see TestGrants
		"pequod-system leases create",
		"pequod-system leases get update", // of one name
		"* transforms get list patch watch",
		"* instancesources get list watch",
		"* transforms/status patch",
		"* resourcegraphs/status patch",
		"* instancesources/status patch",
		"* resourcegraphs create delete get list operate patch watch",
		"* customresourcedefinitions create delete get list patch update watch",
		"* customresourcedefinitions/status patch update",
		"* clusterroles create delete get list patch watch",
		"* clusterrolebindings create delete get list patch watch",
		"* roles create delete get list patch watch",
		"* rolebindings create delete get list patch watch",
		"* serviceaccounts get list watch",
		"* gitrepositories get list watch",
		"* ocirepositories get list watch",
		"* buckets get list watch",
		"* externalartifacts create get list patch watch",
		"* externalartifacts/status patch",
		"* validatingadmissionpolicies get list watch",       // of one name
		"* validatingadmissionpolicybindings get list watch", // of one name
		"* events create patch",
		"* tokenreviews create",
		"* subjectaccessreviews create",
		"pequod-system configmaps get list watch",
		"pequod-system secrets get",
		"pequod-system controllerrevisions create delete get list watch",
	}
	got = bound(t, config.Operator, "pequod-controller-manager")
	if diff := cmp.Diff(want, got, anyOrder); diff != "" {
		t.Errorf("what the manager may do itself (-want +got):\n%s", diff)
	}
	// A manager that only renders keeps what it needs for that. It lists accounts and roles that it
	// doesn't write.
	unneeded := map[string]string{
		"pequod-system serviceaccounts create delete patch": "", "pequod-system roles escalate": "", "* resourcegraphs/status patch": "",
		"* clusterroles create delete get list patch watch":        "* clusterroles get list watch",
		"* clusterrolebindings create delete get list patch watch": "* clusterrolebindings get list watch",
		"* roles create delete get list patch watch":               "* roles get list watch",
		"* rolebindings create delete get list patch watch":        "* rolebindings get list watch",
	}
	rendering := []string{"* * get list patch update watch"} // instances of two groups, see pequod-manager-instances
	for _, right := range want {
		if left, ok := unneeded[right]; ok {
			right = left
		}
		if right != "" {
			rendering = append(rendering, right)
		}
	}
	got = bound(t, buildIn(t, "default", "components: [../default/components/render]\n"), "pequod-controller-manager")
	if diff := cmp.Diff(rendering, got, anyOrder); diff != "" {
		t.Errorf("what a manager may do that only renders (-want +got):\n%s", diff)
	}
	want = []string{
		"* actions get list patch watch", // patch for the finalizer
		"* actions/status patch",
		"* monitors get list watch",
		"* receivers get list watch",
		"* monitors/status patch",
		"* receivers/status patch",
		"* resourcegraphs get",
		"* events create patch",
		"* serviceaccounts impersonate",
		"* tokenreviews create",
		"* subjectaccessreviews create",
		"pequod-system leases create",
		"pequod-system leases get update", // of one name
	}
	got = bound(t, config.Actions, "pequod-actions")
	if diff := cmp.Diff(want, got, anyOrder); diff != "" {
		t.Errorf("what pequod-actions may do itself (-want +got):\n%s", diff)
	}
}

// TestGrants checks that the manager can't grant by default what gives other rights than those to
// write workloads, reads Secrets or reaches beyond namespaces, and that it never ignores the rule
// of escalation.
func TestGrants(t *testing.T) {
	roles, bindings := decode(t, config.Operator)
	grants := 0
	for _, b := range bindings {
		if roles[b.RoleRef.Kind+" "+b.RoleRef.Name].AggregationRule == nil {
			continue
		}
		for _, rule := range rulesOf(t, roles, b) {
			for _, right := range rightsOf(t, rule) {
				grants++
				resource := strings.Fields(right)[0]
				if slices.Contains([]string{"secrets", "nodes", "namespaces", "serviceaccounts/token"}, resource) || strings.Contains(resource, "role") {
					t.Error(right)
				}
			}
		}
	}
	if grants == 0 {
		t.Error("the manager can grant nothing")
	}
	for verb, places := range map[string]int{"escalate": 1, "bind": 0} {
		if n := bytes.Count(config.Operator, []byte("  - "+verb+"\n")); n != places {
			t.Errorf("%d rules have %s", n, verb)
		}
	}
	// Only for the Role that lists the accounts of Transforms.
	var accounts rbacv1.Role
	convert(t, object(t, config.Operator, "Role", "pequod-manager-accounts"), &accounts)
	for _, rule := range accounts.Rules {
		if slices.Contains(rule.Verbs, "escalate") && (!slices.Equal(rule.Resources, []string{"roles"}) || !slices.Equal(rule.ResourceNames, []string{"pequod-manager-transforms"})) {
			t.Errorf("%+v", rule)
		}
	}
	// In the whole cluster, these programs impersonate, and none reads Secrets.
	want := []string{"pequod-actions serviceaccounts impersonate", "pequod-applier serviceaccounts get impersonate"}
	var got []string
	for _, installed := range [][]byte{config.Actions, config.Applier, config.Operator} {
		roles, bindings := decode(t, installed)
		for _, b := range bindings {
			if b.Kind != "ClusterRoleBinding" {
				continue
			}
			for _, rule := range rulesOf(t, roles, b) {
				core := slices.Contains(rule.APIGroups, "") || slices.Contains(rule.APIGroups, "*")
				secrets := slices.ContainsFunc(rule.Resources, func(r string) bool { return r == "*" || strings.HasPrefix(r, "secrets") })
				acts := slices.ContainsFunc(rule.Verbs, func(v string) bool { return v == "*" || strings.HasPrefix(v, "impersonate") })
				if core && secrets || acts {
					for _, right := range rightsOf(t, rule) {
						got = append(got, b.Name+" "+right)
					}
				}
			}
		}
	}
	if diff := cmp.Diff(want, got, anyOrder); diff != "" {
		t.Errorf("who reads Secrets or acts as others in the whole cluster (-want +got):\n%s", diff)
	}
}

// TestConstrainedManager checks that a constrained manager may do as others exactly the requests
// for objects of graphs among those that it may grant.
func TestConstrainedManager(t *testing.T) {
	const prefix = "impersonate-on:serviceaccount:"
	requests := []string{"get", "list", "watch", "create", "patch", "delete"}
	var want, got []string
	for _, right := range rights(t, config.Operator, "pequod-manager-workloads") {
		fields := strings.Fields(right)
		for _, verb := range fields[2:] {
			// Causes are listed. Rights on subresources are for the accounts of Monitors.
			if slices.Contains(requests, verb) && (slices.Contains(fields, "create") || verb == "list") && !strings.Contains(fields[1], "/") {
				want = append(want, fields[1]+" "+prefix+verb)
			}
		}
	}
	// Instances are read, and the roles of Monitors are among what the manager may do itself.
	for _, verb := range requests {
		want = append(want, "roles "+prefix+verb, "rolebindings "+prefix+verb)
		if slices.Contains([]string{"get", "list", "watch"}, verb) {
			want = append(want, "* "+prefix+verb)
		}
	}
	for _, right := range rights(t, config.ConstrainedManager, "pequod-manager-constrained") {
		fields := strings.Fields(right)
		for _, verb := range fields[2:] {
			got = append(got, fields[1]+" "+verb)
		}
	}
	if diff := cmp.Diff(want, got, anyOrder); diff != "" {
		t.Errorf("(-what can be granted +what the component has):\n%s", diff)
	}
}

// anyOrder compares lists of rights.
var anyOrder = cmpopts.SortSlices(strings.Compare)

// decode returns the roles by kind and name, and the bindings.
func decode(t *testing.T, installed []byte) (roles map[string]rbacv1.ClusterRole, bindings []rbacv1.ClusterRoleBinding) {
	t.Helper()
	roles = map[string]rbacv1.ClusterRole{}
	for doc := range strings.SplitSeq(string(installed), "\n---\n") {
		var kind metav1.TypeMeta
		if err := yaml.Unmarshal([]byte(doc), &kind); err != nil {
			t.Fatal(err)
		}
		var role rbacv1.ClusterRole
		var binding rbacv1.ClusterRoleBinding
		var err error
		switch kind.Kind {
		case "Role", "ClusterRole":
			err = yaml.Unmarshal([]byte(doc), &role)
			roles[role.Kind+" "+role.Name] = role
		case "RoleBinding", "ClusterRoleBinding":
			err = yaml.Unmarshal([]byte(doc), &binding)
			bindings = append(bindings, binding)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return roles, bindings
}

// rulesOf returns the rules of the role of a binding, with those that it aggregates.
func rulesOf(t *testing.T, roles map[string]rbacv1.ClusterRole, b rbacv1.ClusterRoleBinding) []rbacv1.PolicyRule {
	t.Helper()
	role, ok := roles[b.RoleRef.Kind+" "+b.RoleRef.Name]
	if !ok && b.RoleRef.Name != "pequod-manager-transforms" { // which pequod-manager makes
		t.Errorf("%s %s: no %s %s", b.Kind, b.Name, b.RoleRef.Kind, b.RoleRef.Name)
	}
	rules := slices.Clone(role.Rules)
	if role.AggregationRule == nil {
		return rules
	}
	for i := range role.AggregationRule.ClusterRoleSelectors {
		selector, err := metav1.LabelSelectorAsSelector(&role.AggregationRule.ClusterRoleSelectors[i])
		if err != nil {
			t.Fatal(err)
		}
		for _, other := range roles {
			if other.Kind == "ClusterRole" && selector.Matches(labels.Set(other.Labels)) {
				rules = append(rules, other.Rules...)
			}
		}
	}
	return rules
}

// bound returns what the roles allow that are bound to a service account: NAMESPACE RESOURCE
// VERB…, or * for the whole cluster. It leaves out roles that aggregate others.
func bound(t *testing.T, installed []byte, account string) (got []string) {
	t.Helper()
	roles, bindings := decode(t, installed)
	for _, b := range bindings {
		if !slices.ContainsFunc(b.Subjects, func(s rbacv1.Subject) bool { return s.Kind == "ServiceAccount" && s.Name == account }) {
			t.Errorf("%s %s is not for %s", b.Kind, b.Name, account)
		}
		if roles[b.RoleRef.Kind+" "+b.RoleRef.Name].AggregationRule != nil {
			continue
		}
		where := b.Namespace
		if b.Kind == "ClusterRoleBinding" {
			where = "*"
		}
		for _, rule := range rulesOf(t, roles, b) {
			for _, right := range rightsOf(t, rule) {
				got = append(got, where+" "+right)
			}
		}
	}
	return got
}

// rights returns what roles of given names allow: KIND RESOURCE VERB….
func rights(t *testing.T, installed []byte, names ...string) (got []string) {
	t.Helper()
	roles, _ := decode(t, installed)
	for _, name := range names {
		for _, kind := range []string{"ClusterRole", "Role"} {
			for _, rule := range roles[kind+" "+name].Rules {
				for _, right := range rightsOf(t, rule) {
					got = append(got, kind+" "+right)
				}
			}
		}
	}
	return got
}

// rightsOf returns what a rule allows: RESOURCE VERB….
func rightsOf(t *testing.T, rule rbacv1.PolicyRule) (got []string) {
	t.Helper()
	verbs := slices.Sorted(slices.Values(rule.Verbs))
	for _, resource := range rule.Resources {
		got = append(got, strings.Join(append([]string{resource}, verbs...), " "))
	}
	if len(rule.NonResourceURLs) > 0 {
		t.Errorf("a role allows %v %v", rule.Verbs, rule.NonResourceURLs)
	}
	return got
}
