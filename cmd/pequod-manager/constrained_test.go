package main

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/config"
	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/process"
)

// TestConstrainedImpersonation installs the manager with --constrained. It makes a platform and
// executes its graphs, and its token can do nothing else as others: all other combinations of
// user, verb, resource and namespace are forbidden.
func TestConstrainedImpersonation(t *testing.T) {
	t.Parallel()
	c := harness.StartOwn(t)
	c.Requires(t, "1.36")
	c.Apply(t, process.Pequod(t, c, 0, "install", "--mode=operator", "--constrained", "--export"))
	access := c.ServiceAccount(t, process.Namespace, deployed.Account)
	p := start(t, c)
	c.Apply(t, webService(process.Namespace))
	c.Apply(t, strings.ReplaceAll(team, "NAMESPACE", c.Namespace))
	hasCondition(t, c, "platform.pequod.io/v1alpha1", "Transform", process.Namespace, "webservice", "Ready", "True", "")
	c.Apply(t, "{apiVersion: pequod.io/v1alpha1, kind: WebService, metadata: {name: web}, spec: {image: 'ghcr.io/example/web:v1', port: 80, replicas: 2}}")
	hasCondition(t, c, "pequod.io/v1alpha1", "WebService", c.Namespace, "web", "Ready", "True", "")
	for _, line := range p.Log.Lines() {
		if strings.Contains(line, "forbidden") {
			t.Errorf("a right is missing: %s", line)
		}
	}
	// The manager does nothing while its token is tried out.
	p.Stop(t)

	var role rbacv1.ClusterRole
	if err := yaml.UnmarshalStrict(config.ConstrainedManager, &role); err != nil {
		t.Fatal(err)
	}
	account := func(namespace, name string) string { return "system:serviceaccount:" + namespace + ":" + name }
	users := []string{
		account(process.Namespace, "pequod-transform-webservice"), account(process.Namespace, deployed.Account), account(process.Namespace, "default"),
		account(c.Namespace, "team"), account("kube-system", "namespace-controller"), "system:node:node-0", "admin",
	}
	resources := []struct {
		group, name string
		cluster     bool
	}{
		{"", "configmaps", false}, {"", "secrets", false}, {"", "services", false}, {"", "serviceaccounts", false}, {"", "pods", false}, {"", "events", false},
		{"apps", "deployments", false}, {"apps", "replicasets", false}, {"rbac.authorization.k8s.io", "roles", false}, {"", "namespaces", true},
		{"rbac.authorization.k8s.io", "clusterroles", true},
	}
	verbs := []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}
	client, err := rest.HTTPClientFor(access)
	if err != nil {
		t.Fatal(err)
	}
	client.Timeout = 30 * time.Second
	inside, outside := 0, 0
	for _, user := range users {
		for _, r := range resources {
			namespaces := []string{c.Namespace, process.Namespace, "kube-system"}
			if r.cluster {
				namespaces = []string{""}
			}
			for _, namespace := range namespaces {
				for _, verb := range verbs {
					probe := harness.Probe{
						As: user, Namespace: namespace, Group: r.group, Resource: r.name, Verb: verb, Named: !slices.Contains([]string{"list", "watch", "create", "deletecollection"}, verb),
					}
					granted := slices.ContainsFunc(role.Rules, func(rule rbacv1.PolicyRule) bool {
						return slices.Contains(rule.APIGroups, r.group) && slices.Contains(rule.Resources, r.name) && slices.Contains(rule.Verbs, "impersonate-on:serviceaccount:"+verb)
					})
					known := strings.HasPrefix(user, account(process.Namespace, "")) || user == account(c.Namespace, "team")
					want := granted && known && may(t, c, probe)
					if want {
						inside++
					} else {
						outside++
					}
					if code := probe.Send(t.Context(), t, client, access.Host); (code != http.StatusForbidden) != want {
						t.Errorf("%+v: %d, and the roles allow it: %t", probe, code, want)
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

// team is an account with rights in its namespace, as which the manager may act there, for
// Transforms with serviceAccountName.
const team = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: team}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: team}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: edit}
subjects: [{kind: ServiceAccount, name: team, namespace: NAMESPACE}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: pequod-manager-impersonate}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: pequod-manager-impersonate}
subjects: [{kind: ServiceAccount, name: pequod-controller-manager, namespace: pequod-system}]
`

// may reports whether the user of a probe may do what it asks for.
func may(t *testing.T, c *harness.Cluster, p harness.Probe) bool {
	t.Helper()
	attributes := &authorizationv1.ResourceAttributes{Namespace: p.Namespace, Group: p.Group, Resource: p.Resource, Verb: p.Verb}
	if p.Named {
		attributes.Name = harness.Probed
	}
	review, err := c.Client.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{User: p.As, ResourceAttributes: attributes},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return review.Status.Allowed
}
