package rbac

import (
	"cmp"
	"maps"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// roleName returns the name of all roles and bindings of an account. Names of
// namespaces and accounts have no colons, so two accounts never share a name.
func (a account) roleName() string { return "pequod:" + a.namespace + ":" + a.name }

// watchRoleName returns the name of the role for watching the objects of the
// account's graphs.
func (a account) watchRoleName() string { return "pequod:watch:" + a.namespace + ":" + a.name }

// roles returns the objects for all grants, sorted by account and namespace.
func (g *generator) roles() *Roles {
	r := &Roles{Notes: g.notes, Escalations: g.escalations, Summary: g.summary()}
	var watchRoles []rbacv1.ClusterRole
	awaited := map[string]bool{} // whether a namespace with a Role is created by a graph
	for _, a := range g.sortedAccounts() {
		grants := g.accounts[a]
		for _, namespace := range slices.Sorted(maps.Keys(grants.namespaces)) {
			if rules := grants.namespaces[namespace].rules(); len(rules) > 0 {
				r.add(a.roleName(), namespace, rules, a.subject())
				awaited[namespace] = g.createdNamespaces[namespace]
			}
		}
		if g.options.Constrained != (types.NamespacedName{}) {
			r.addImpersonation(a, grants, g.options.Constrained)
		}
		if len(grants.watched) > 0 {
			watchRoles = append(watchRoles, watchRole(a, grants.watched))
		}
	}
	r.ClusterRoles = append(r.ClusterRoles, watchRoles...)
	for _, namespace := range slices.Sorted(maps.Keys(awaited)) {
		if awaited[namespace] {
			r.Notes = append(r.Notes, "namespace "+namespace+" is part of a graph: the Role in it can be applied when the namespace exists")
		}
	}
	return r
}

// subject returns the account as the subject of a binding.
func (a account) subject() rbacv1.Subject {
	return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: a.namespace, Name: a.name}
}

// add adds a role and its binding to a subject; namespace "" means a ClusterRole.
func (r *Roles) add(name, namespace string, rules []rbacv1.PolicyRule, subject rbacv1.Subject) {
	meta := metav1.ObjectMeta{Name: name, Namespace: namespace}
	subjects := []rbacv1.Subject{subject}
	if namespace == "" {
		r.ClusterRoles = append(r.ClusterRoles, rbacv1.ClusterRole{TypeMeta: typeMeta("ClusterRole"), ObjectMeta: meta, Rules: rules})
		r.ClusterRoleBindings = append(r.ClusterRoleBindings, rbacv1.ClusterRoleBinding{
			TypeMeta: typeMeta("ClusterRoleBinding"), ObjectMeta: meta, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name},
		})
		return
	}
	r.Roles = append(r.Roles, rbacv1.Role{TypeMeta: typeMeta("Role"), ObjectMeta: meta, Rules: rules})
	r.RoleBindings = append(r.RoleBindings, rbacv1.RoleBinding{
		TypeMeta: typeMeta("RoleBinding"), ObjectMeta: meta, Subjects: subjects,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
	})
}

// watchRole returns the role that lets the applier watch resources. Each resource
// has a rule of its own: the controller that aggregates roles drops duplicate
// rules, so the aggregated role stays small however many accounts use a resource.
func watchRole(a account, watched map[schema.GroupResource]bool) rbacv1.ClusterRole {
	role := rbacv1.ClusterRole{
		TypeMeta:   typeMeta("ClusterRole"),
		ObjectMeta: metav1.ObjectMeta{Name: a.watchRoleName(), Labels: map[string]string{v1alpha1.LabelAggregate: "true"}},
	}
	resources := slices.SortedFunc(maps.Keys(watched), func(a, b schema.GroupResource) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource))
	})
	for _, r := range resources {
		role.Rules = append(role.Rules, rbacv1.PolicyRule{
			APIGroups: []string{r.Group}, Resources: []string{r.Resource}, Verbs: []string{"get", "list", "watch"},
		})
	}
	return role
}

// typeMeta returns the type of an RBAC object. Objects are printed as YAML, which
// needs it.
func typeMeta(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: kind}
}
