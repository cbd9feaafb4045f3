package config_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/config"
)

// TestNarrow holds that the programs write, by their own rights, only what is their own.
func TestNarrow(t *testing.T) {
	want := []string{
		"Role leases create",
		"Role leases get update", // of one name
		"ClusterRole resourcegraphs get list patch watch",
		"ClusterRole resourcegraphs/status patch",
		"ClusterRole customresourcedefinitions get list",
		"ClusterRole events create patch",
		"ClusterRole serviceaccounts get impersonate",
		"ClusterRole tokenreviews create",
		"ClusterRole subjectaccessreviews create",
	}
	got := rights(t, config.Applier, "pequod-applier")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what the applier may do itself (-want +got):\n%s", diff)
	}
	want = []string{
		"Role serviceaccounts create delete impersonate patch",
		"Role leases create",
		"Role leases get update", // of one name
		"ClusterRole transforms get list patch watch",
		"ClusterRole instancesources get list watch",
		"ClusterRole transforms/status patch",
		"ClusterRole resourcegraphs/status patch",
		"ClusterRole instancesources/status patch",
		"ClusterRole resourcegraphs create delete get list operate patch watch",
		"ClusterRole customresourcedefinitions create delete get list patch watch",
		"ClusterRole customresourcedefinitions/status patch update",
		"ClusterRole clusterroles create delete get list patch watch",
		"ClusterRole clusterrolebindings create delete get list patch watch",
		"ClusterRole roles create delete get list patch watch",
		"ClusterRole rolebindings create delete get list patch watch",
		"ClusterRole serviceaccounts get list watch",
		"ClusterRole gitrepositories get list watch",
		"ClusterRole ocirepositories get list watch",
		"ClusterRole buckets get list watch",
		"ClusterRole externalartifacts create get list patch watch",
		"ClusterRole externalartifacts/status patch",
		"ClusterRole validatingadmissionpolicies get list watch",       // of one name
		"ClusterRole validatingadmissionpolicybindings get list watch", // of one name
		"ClusterRole events create patch",
		"ClusterRole tokenreviews create",
		"ClusterRole subjectaccessreviews create",
	}
	got = rights(t, config.Operator, "pequod-manager", "pequod-manager-accounts", "pequod-manager-leader-election")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what the manager may do itself (-want +got):\n%s", diff)
	}
	want = []string{
		"ClusterRole actions get list patch watch", // patch for the finalizer
		"ClusterRole actions/status patch",
		"ClusterRole monitors get list watch",
		"ClusterRole receivers get list watch",
		"ClusterRole monitors/status patch",
		"ClusterRole receivers/status patch",
		"ClusterRole events create patch",
		"ClusterRole serviceaccounts impersonate",
		"ClusterRole tokenreviews create",
		"ClusterRole subjectaccessreviews create",
		"Role leases create",
		"Role leases get update", // of one name
	}
	slices.Sort(want)
	got = rights(t, config.Actions, "pequod-actions")
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what pequod-actions may do itself (-want +got):\n%s", diff)
	}
}

// TestGrants checks that the manager can't grant by default what gives other rights, reads
// Secrets or reaches beyond namespaces, and that it never ignores the rule of escalation.
func TestGrants(t *testing.T) {
	for _, right := range rights(t, config.Operator, "pequod-manager-workloads", "pequod-manager-instances") {
		resource := strings.Fields(right)[1]
		if slices.Contains([]string{"secrets", "nodes", "namespaces", "pods/exec", "serviceaccounts/token"}, resource) || strings.Contains(resource, "role") {
			t.Error(right)
		}
	}
	for _, verb := range []string{"escalate", "bind"} {
		if bytes.Contains(config.Operator, []byte("  - "+verb+"\n")) {
			t.Errorf("somebody may %s", verb)
		}
	}
	for doc := range strings.SplitSeq(string(config.Operator), "\n---\n") {
		if strings.Contains(doc, "kind: ClusterRoleBinding\n") && strings.Contains(doc, "name: pequod-manager-impersonate\n") {
			t.Error("the manager may act as every account of the cluster")
		}
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
			// Causes are listed.
			if slices.Contains(requests, verb) && (slices.Contains(fields, "create") || verb == "list") {
				want = append(want, fields[1]+" "+prefix+verb)
			}
		}
	}
	for _, right := range rights(t, config.ConstrainedManager, "pequod-manager-constrained") {
		fields := strings.Fields(right)
		for _, verb := range fields[2:] {
			got = append(got, fields[1]+" "+verb)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-what can be granted +what the component has):\n%s", diff)
	}
}

// rights returns what roles of given names allow.
func rights(t *testing.T, installed []byte, names ...string) (got []string) {
	t.Helper()
	for doc := range strings.SplitSeq(string(installed), "\n---\n") {
		var role rbacv1.ClusterRole
		if err := yaml.Unmarshal([]byte(doc), &role); err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(names, role.Name) || role.Kind != "ClusterRole" && role.Kind != "Role" {
			continue
		}
		for _, rule := range role.Rules {
			slices.Sort(rule.Verbs)
			for _, resource := range rule.Resources {
				got = append(got, strings.Join(append([]string{role.Kind, resource}, rule.Verbs...), " "))
			}
			if len(rule.NonResourceURLs) > 0 {
				t.Errorf("%s may %v %v", role.Kind, rule.Verbs, rule.NonResourceURLs)
			}
		}
	}
	return got
}
