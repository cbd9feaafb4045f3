package rbac

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/test/harness"
)

// allows reports whether the roles allow the account of a probe what it asks for.
func allows(roles *Roles, p harness.Probe) bool {
	covers := func(subject rbacv1.Subject, rules []rbacv1.PolicyRule) bool {
		return userOf(subject.Namespace, subject.Name) == p.As && slices.ContainsFunc(rules, func(r rbacv1.PolicyRule) bool {
			return slices.Contains(r.APIGroups, p.Group) && slices.Contains(r.Resources, p.Resource) && slices.Contains(r.Verbs, p.Verb) &&
				(len(r.ResourceNames) == 0 || p.Named && slices.Contains(r.ResourceNames, harness.Probed))
		})
	}
	for i, b := range roles.RoleBindings {
		if b.Namespace == p.Namespace && covers(b.Subjects[0], roles.Roles[i].Rules) {
			return true
		}
	}
	for i, b := range roles.ClusterRoleBindings {
		if covers(b.Subjects[0], roles.ClusterRoles[i].Rules) {
			return true
		}
	}
	return false
}

// An applier with constrained roles can do what the accounts of the graphs can do, as these
// accounts, and nothing else: all other combinations of user, verb, resource and namespace
// are forbidden.
func TestConstrainedImpersonation(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.Requires(t, "1.36")
	third := f.Unique("third")
	f.Apply(t, fmt.Sprintf(`{apiVersion: v1, kind: Namespace, metadata: {name: %s}}`, third))
	graphOn := func(namespace, account, nodes string) *v1alpha1.ResourceGraph {
		rg := nodesOf(t, nodes)
		rg.Namespace, rg.Name, rg.Spec.ServiceAccountName = namespace, account, account
		return rg
	}
	graphs := []*v1alpha1.ResourceGraph{
		graphOn(f.Namespace, "first", `
    - {id: a, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: web}}}
    - {id: b, resource: {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}}}
    - {id: c, resource: {apiVersion: v1, kind: Namespace, metadata: {name: web}}}`),
		graphOn(f.Namespace, "second", `
    - {id: a, resource: {apiVersion: v1, kind: Service, metadata: {name: web}}}
    - {id: b, externalRef: {apiVersion: v1, kind: Secret, name: web}}`),
		graphOn(f.other, "third", `
    - {id: a, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: web, namespace: `+f.Namespace+`}}}
    - {id: b, resource: {apiVersion: v1, kind: ServiceAccount, metadata: {name: web}}}`),
	}
	applier := types.NamespacedName{Namespace: f.Namespace, Name: "applier"}
	roles, err := Generate(graphs, Options{NoCauses: true, Constrained: applier})
	if err != nil {
		t.Fatal(err)
	}
	config := f.ServiceAccount(t, applier.Namespace, applier.Name)
	f.grant(t, roles)
	// An account without graphs, whose rights would show that the applier may act as it.
	f.Apply(t, `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: default}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}, subjects: [{kind: ServiceAccount, name: default, namespace: `+f.Namespace+`}]}`)

	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	httpClient.Timeout = 30 * time.Second
	users := []string{
		userOf(f.Namespace, "first"), userOf(f.Namespace, "second"), userOf(f.other, "third"),
		userOf(f.Namespace, "default"), userOf(f.other, "first"), userOf("kube-system", "namespace-controller"),
		"system:node:node-0", "admin",
	}
	resources := []struct {
		group, name string
		cluster     bool
	}{
		{"", "configmaps", false}, {"", "secrets", false}, {"", "services", false}, {"", "serviceaccounts", false}, {"", "pods", false},
		{"apps", "deployments", false}, {"rbac.authorization.k8s.io", "roles", false}, {"", "namespaces", true},
	}
	verbs := []struct {
		name  string
		named bool
	}{
		{"get", true}, {"list", false}, {"list", true}, {"watch", false}, {"watch", true}, {"create", false}, {"update", true},
		{"patch", true}, {"delete", true}, {"deletecollection", false},
	}
	inside, outside := 0, 0
	for _, user := range users {
		for _, r := range resources {
			namespaces := []string{f.Namespace, f.other, third}
			if r.cluster {
				namespaces = []string{""}
			}
			for _, namespace := range namespaces {
				for _, verb := range verbs {
					p := harness.Probe{As: user, Namespace: namespace, Group: r.group, Resource: r.name, Verb: verb.name, Named: verb.named}
					want := allows(roles, p)
					if want {
						inside++
					} else {
						outside++
					}
					if code := p.Send(t.Context(), t, httpClient, config.Host); (code != http.StatusForbidden) != want {
						t.Errorf("%+v: %d, and the roles allow it: %t", p, code, want)
					}
				}
			}
		}
	}
	t.Logf("%d requests inside of the roles, %d outside", inside, outside)
	if inside < 30 || outside < 500 {
		t.Errorf("%d requests inside of the roles, %d outside", inside, outside)
	}
}

// An applier whose own rights are the constrained roles executes graphs.
func TestConstrainedRolesSuffice(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.Requires(t, "1.36")
	applier := types.NamespacedName{Namespace: f.Namespace, Name: "applier"}
	rg := f.graph(t, "constrained", everything)
	f.grant(t, generate(t, rg, Options{CLI: true, Constrained: applier}))
	f.requester = f.ServiceAccount(t, applier.Namespace, applier.Name)
	if denied := f.run(t, rg, true); len(denied) > 0 {
		t.Error(strings.Join(denied, "\n"))
	}
	other := f.graph(t, "other", everything)
	f.grant(t, generate(t, other, Options{CLI: true}))
	if denied := f.run(t, other, true); len(denied) == 0 {
		t.Error("the applier acts as an account without constrained roles")
	}
}
