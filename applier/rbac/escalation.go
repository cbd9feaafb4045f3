package rbac

import (
	"encoding/json"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
)

// allowEscalation grants what the API server's escalation checks demand from an
// account that writes roles and bindings: every rule of the role, and the verb bind
// on the role of a binding. If these are known only after the apply, it adds a note
// instead.
//
// See https://kubernetes.io/docs/reference/access-authn-authz/rbac/#privilege-escalation-prevention-and-bootstrapping.
func (g *generator) allowEscalation(to *namespaceGrants, n *node) {
	if n.GroupKind().Group != rbacv1.GroupName || n.Resource == nil {
		return
	}
	note := func(text string) {
		g.notes = append(g.notes, fmt.Sprintf("graph %s/%s: node %s: %s", n.graph.Namespace, n.graph.Name, n.ID, text))
	}
	switch n.Object.Kind {
	case "Role", "ClusterRole":
		var role struct {
			Rules           []rbacv1.PolicyRule     `json:"rules"`
			AggregationRule *rbacv1.AggregationRule `json:"aggregationRule"`
		}
		switch err := json.Unmarshal(n.Resource.Raw, &role); {
		case err != nil:
			note("its rules are known only after the apply: grant them to the account yourself")
		case role.AggregationRule != nil:
			note("its rules are aggregated from other roles: grant them to the account yourself")
		default:
			to.copied = append(to.copied, role.Rules...)
		}
	case "RoleBinding", "ClusterRoleBinding":
		var binding struct {
			RoleRef rbacv1.RoleRef `json:"roleRef"`
		}
		if err := json.Unmarshal(n.Resource.Raw, &binding); err != nil || binding.RoleRef.Name == "" || binding.RoleRef.Kind == "" {
			note("the role that it binds is known only after the apply: grant the account the verb bind for it yourself")
			return
		}
		to.allow(target{rbacv1.GroupName, builtInResource(binding.RoleRef.Kind), binding.RoleRef.Name}, "bind")
	}
}
