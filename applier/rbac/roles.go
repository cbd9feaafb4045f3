package rbac

import (
	"cmp"
	"maps"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// name is that of an account's roles and bindings, wherever they are. Colons are
// in no name of a namespace or an account, so no two accounts have one name.
func (a account) roleName() string { return "pequod:" + a.namespace + ":" + a.name }

// watchName is that of the role for watching what an account's graphs hold.
func (a account) watchName() string { return "pequod:watch:" + a.namespace + ":" + a.name }

// roles are the grants as objects.
func (g *generator) roles() *Roles {
	r := &Roles{Notes: g.notes}
	accounts := slices.SortedFunc(maps.Keys(g.grants), func(a, b account) int {
		return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
	})
	var watches []rbacv1.ClusterRole
	awaited := map[string]bool{}
	for _, a := range accounts {
		of := g.grants[a]
		for _, namespace := range slices.Sorted(maps.Keys(of.places)) {
			if rules := of.places[namespace].rules(); len(rules) > 0 {
				r.add(a, namespace, rules)
				awaited[namespace] = g.made[namespace]
			}
		}
		if len(of.watched) > 0 {
			watches = append(watches, watchRole(a, of.watched))
		}
	}
	r.ClusterRoles = append(r.ClusterRoles, watches...)
	for _, namespace := range slices.Sorted(maps.Keys(awaited)) {
		if awaited[namespace] {
			r.Notes = append(r.Notes, "namespace "+namespace+" is part of a graph: the Role in it can be applied when it is there")
		}
	}
	return r
}

// add adds a role with its binding.
func (r *Roles) add(a account, namespace string, rules []rbacv1.PolicyRule) {
	meta := metav1.ObjectMeta{Name: a.roleName(), Namespace: namespace}
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: a.namespace, Name: a.name}}
	if namespace == "" {
		r.ClusterRoles = append(r.ClusterRoles, rbacv1.ClusterRole{TypeMeta: typeOf("ClusterRole"), ObjectMeta: meta, Rules: rules})
		r.ClusterRoleBindings = append(r.ClusterRoleBindings, rbacv1.ClusterRoleBinding{
			TypeMeta: typeOf("ClusterRoleBinding"), ObjectMeta: meta, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name},
		})
		return
	}
	r.Roles = append(r.Roles, rbacv1.Role{TypeMeta: typeOf("Role"), ObjectMeta: meta, Rules: rules})
	r.RoleBindings = append(r.RoleBindings, rbacv1.RoleBinding{
		TypeMeta: typeOf("RoleBinding"), ObjectMeta: meta, Subjects: subjects,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
	})
}

// watchRole lets the applier watch kinds. A rule for each of them is one that
// the controller that puts roles together keeps once, however many name it.
func watchRole(a account, watched map[schema.GroupResource]bool) rbacv1.ClusterRole {
	role := rbacv1.ClusterRole{
		TypeMeta:   typeOf("ClusterRole"),
		ObjectMeta: metav1.ObjectMeta{Name: a.watchName(), Labels: map[string]string{LabelAggregate: "true"}},
	}
	kinds := slices.SortedFunc(maps.Keys(watched), func(a, b schema.GroupResource) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource))
	})
	for _, k := range kinds {
		role.Rules = append(role.Rules, rbacv1.PolicyRule{
			APIGroups: []string{k.Group}, Resources: []string{k.Resource}, Verbs: []string{"get", "list", "watch"},
		})
	}
	return role
}

func typeOf(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: kind}
}
