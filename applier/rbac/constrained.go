package rbac

import (
	"maps"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Verbs of constrained impersonation (KEP-5284, on by default since Kubernetes 1.36):
// impersonateAccount is the right to act as a service account at all, and
// impersonateOn, followed by a verb, the right to use that verb on a resource while
// acting as any service account.
const (
	impersonateAccount = "impersonate:serviceaccount"
	impersonateOn      = "impersonate-on:serviceaccount:"
)

// impersonationName returns the name of the roles with which the applier acts as the
// account.
func (a account) impersonationName() string {
	return "pequod:impersonate:" + a.namespace + ":" + a.name
}

// addImpersonation adds the roles with which an applier may act as an account: in each
// namespace only with the verbs and on the resources that the account is granted. The
// right to act as the account at all is in the account's namespace.
func (r *Roles) addImpersonation(a account, grants *accountGrants, applier types.NamespacedName) {
	subject := rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: applier.Namespace, Name: applier.Name}
	namespaces := slices.Collect(maps.Keys(grants.namespaces))
	if !slices.Contains(namespaces, a.namespace) {
		namespaces = append(namespaces, a.namespace)
	}
	slices.Sort(namespaces)
	for _, namespace := range namespaces {
		var rules []rbacv1.PolicyRule
		if namespace == a.namespace {
			rules = append(rules, rbacv1.PolicyRule{
				APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"serviceaccounts"},
				ResourceNames: []string{a.name}, Verbs: []string{impersonateAccount},
			})
		}
		if g := grants.namespaces[namespace]; g != nil {
			rules = append(rules, g.requestRules(impersonateOn)...)
		}
		if len(rules) > 0 {
			r.add(a.impersonationName(), namespace, rules, subject)
		}
	}
}

// requestRules returns the rules for the requests that the applier sends, with a prefix
// for each verb. The rules of roles that a graph writes, and the verb bind, are left out:
// the API server only compares them with what is written.
func (g *namespaceGrants) requestRules(prefix string) []rbacv1.PolicyRule {
	requests := &namespaceGrants{verbs: map[target]verbs{}}
	for t, v := range g.verbs {
		requests.allow(t, v.without(verbs{"bind": true}).sorted()...)
	}
	rules := requests.rules()
	for i := range rules {
		for j, verb := range rules[i].Verbs {
			rules[i].Verbs[j] = prefix + verb
		}
	}
	return rules
}

// DefaultApplier is the service account of the applier that "pequod install" installs.
var DefaultApplier = types.NamespacedName{Namespace: "pequod-system", Name: "pequod-applier"}
