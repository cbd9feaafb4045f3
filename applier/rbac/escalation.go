package rbac

import (
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/json"
)

// bind is a binding that is a node of a graph.
type bind struct {
	node      *node
	account   *accountGrants
	namespace string // of the binding, "" for a ClusterRoleBinding
	role      target
}

// allowEscalation grants what the API server's escalation checks demand from an
// account that writes roles and bindings: every rule of the role, and the verb bind
// on the role of a binding. If these are known only after the apply, it adds a note
// instead, and an unknown right for [Rights]. Bindings are only collected, for
// [generator.allowBinds].
//
// See https://kubernetes.io/docs/reference/access-authn-authz/rbac/#privilege-escalation-prevention-and-bootstrapping.
func (g *generator) allowEscalation(to *accountGrants, namespace string, n *node) {
	if n.GroupKind().Group != rbacv1.GroupName || n.Resource == nil {
		return
	}
	note := func(text, verb string, roles ...target) {
		g.notes = append(g.notes, fmt.Sprintf("graph %s/%s: node %s: %s", n.graph.Namespace, n.graph.Name, n.ID, text))
		to.in(namespace).addUnknown(verb, roles...)
	}
	switch n.Object.Kind {
	case "Role", "ClusterRole":
		self := target{rbacv1.GroupName, builtInResource(n.Object.Kind), n.Object.Name}
		var role struct {
			Rules           []rbacv1.PolicyRule     `json:"rules"`
			AggregationRule *rbacv1.AggregationRule `json:"aggregationRule"`
		}
		switch err := json.Unmarshal(n.Resource.Raw, &role); {
		case err != nil:
			note("its rules are known only after the apply: grant them to the account yourself", "escalate", self)
		case role.AggregationRule != nil:
			note("its rules are aggregated from other roles: grant them to the account yourself", "escalate", self)
		default:
			to.in(namespace).copyRules(self, role.Rules)
			g.escalatesByRules(n, role.Rules)
		}
	case "RoleBinding", "ClusterRoleBinding":
		var binding struct {
			RoleRef rbacv1.RoleRef `json:"roleRef"`
		}
		if err := json.Unmarshal(n.Resource.Raw, &binding); err != nil || binding.RoleRef.Name == "" || binding.RoleRef.Kind == "" {
			note("the role that it binds is known only after the apply: grant the account the verb bind for it yourself", "bind",
				target{group: rbacv1.GroupName, resource: "clusterroles"}, target{group: rbacv1.GroupName, resource: "roles"})
			return
		}
		g.binds = append(g.binds, bind{n, to, namespace, target{rbacv1.GroupName, builtInResource(binding.RoleRef.Kind), binding.RoleRef.Name}})
	}
}

// allowBinds grants the verb bind for all bindings. It runs after all nodes, since
// the roles may follow their bindings. To bind a role whose rules the account has
// anyway, because the role is one of its graphs', is no escalation.
func (g *generator) allowBinds() {
	for _, b := range g.binds {
		grants := b.account.in(b.namespace)
		grants.allow(b.role, "bind")
		from := grants
		if b.role.resource == builtInResource("ClusterRole") {
			from = b.account.in("")
		}
		if !from.roles[b.role] {
			g.escalates(b.node, "the right to bind a role: "+b.role.String())
		}
	}
}

// escalatesByRules records an escalation for every rule with which the account
// could do more than work with objects of certain kinds.
func (g *generator) escalatesByRules(n *node, rules []rbacv1.PolicyRule) {
	for _, rule := range rules {
		for _, verb := range rule.Verbs {
			if slices.Contains([]string{"bind", "escalate", "impersonate"}, verb) {
				g.escalates(n, fmt.Sprintf("the right to %s: a rule of its role has this verb", verb))
			}
		}
		isWildcard := func(s string) bool { return strings.Contains(s, "*") }
		if slices.ContainsFunc(slices.Concat(rule.APIGroups, rule.Resources, rule.Verbs, rule.NonResourceURLs), isWildcard) {
			g.escalates(n, "unlimited rights: a rule of its role has a wildcard")
		}
	}
}

// escalates records that a node asks for rights that need consent.
func (g *generator) escalates(n *node, rights string) {
	line := fmt.Sprintf("graph %s/%s: node %s: asks for %s", n.graph.Namespace, n.graph.Name, n.ID, rights)
	if !slices.Contains(g.escalations, line) { // the input may have several revisions
		g.escalations = append(g.escalations, line)
	}
}
