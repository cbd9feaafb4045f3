package rbac

import (
	"encoding/json"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
)

// escalation allows what the API server asks of whoever writes roles and
// bindings: to hold every rule of the role, and to be allowed to bind the one
// that is bound.
func (g *generator) escalation(p *place, n *node) {
	if n.GroupKind().Group != rbacv1.GroupName || n.Resource == nil {
		return
	}
	unknown := func(what string) {
		g.notes = append(g.notes, fmt.Sprintf("graph %s/%s: node %s: %s: grant the account what it needs for it",
			n.graph.Namespace, n.graph.Name, n.ID, what))
	}
	switch n.Object.Kind {
	case "Role", "ClusterRole":
		var role struct {
			Rules           []rbacv1.PolicyRule     `json:"rules"`
			AggregationRule *rbacv1.AggregationRule `json:"aggregationRule"`
		}
		switch err := json.Unmarshal(n.Resource.Raw, &role); {
		case err != nil:
			unknown("its rules aren't known before it is applied")
		case role.AggregationRule != nil:
			unknown("its rules are those of other roles")
		default:
			p.more = append(p.more, role.Rules...)
		}
	case "RoleBinding", "ClusterRoleBinding":
		var binding struct {
			RoleRef rbacv1.RoleRef `json:"roleRef"`
		}
		if err := json.Unmarshal(n.Resource.Raw, &binding); err != nil || binding.RoleRef.Name == "" || binding.RoleRef.Kind == "" {
			unknown("the role that it binds isn't known before it is applied")
			return
		}
		p.allow(target{rbacv1.GroupName, builtIn(binding.RoleRef.Kind), binding.RoleRef.Name}, "bind")
	}
}
