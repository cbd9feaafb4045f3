package rbac

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// account is a service account.
type account struct{ namespace, name string }

// accountGrants has the rights of one account.
type accountGrants struct {
	namespaces map[string]*namespaceGrants // "" is for cluster-scoped objects
	// watched are the resources that the applier watches for the account's graphs.
	watched map[schema.GroupResource]bool
}

// in returns the grants in a namespace, which it creates if necessary.
func (g *accountGrants) in(namespace string) *namespaceGrants {
	grants := g.namespaces[namespace]
	if grants == nil {
		grants = &namespaceGrants{verbs: map[target]verbs{}, roles: map[target]bool{}}
		g.namespaces[namespace] = grants
	}
	return grants
}

// namespaceGrants has the rights of one account in one namespace, or those for
// cluster-scoped objects.
type namespaceGrants struct {
	verbs map[target]verbs
	// copied are the rules of roles that are nodes of graphs: the API server lets
	// an account write only roles whose rules it has itself.
	copied []rbacv1.PolicyRule
	roles  map[target]bool // the roles that copied is from
	// unknown are the verbs escalate and bind on roles whose rules are known only after
	// the apply. They are no grants: only [Rights] uses them.
	unknown map[target]verbs
}

// addUnknown adds a verb on roles to unknown.
func (g *namespaceGrants) addUnknown(verb string, roles ...target) {
	if g.unknown == nil {
		g.unknown = map[target]verbs{}
	}
	for _, role := range roles {
		g.unknown[role] = verbs{verb: true}
	}
}

// target is the object of a right: all objects of a resource, or one if name is set.
type target struct{ group, resource, name string }

// String returns the target for people: "deployments.apps web".
func (t target) String() string {
	text := t.resource
	if t.group != "" {
		text += "." + t.group
	}
	if t.name != "" {
		text += " " + t.name
	}
	return text
}

// copyRules grants the rules of a role.
func (g *namespaceGrants) copyRules(role target, rules []rbacv1.PolicyRule) {
	g.roles[role] = true
	g.copied = append(g.copied, rules...)
}

// verbs is a set of verbs.
type verbs map[string]bool

// allow grants verbs on a target, in addition to those that it already has.
func (g *namespaceGrants) allow(t target, all ...string) {
	if g.verbs[t] == nil {
		g.verbs[t] = verbs{}
	}
	for _, v := range all {
		g.verbs[t][v] = true
	}
}

// verbOrder is the order of verbs in kubectl's documentation.
var verbOrder = []string{"get", "list", "watch", "create", "patch", "delete", "bind", "escalate"}

// sorted returns the verbs in verbOrder. Others come first, by name.
func (v verbs) sorted() []string {
	return slices.SortedFunc(maps.Keys(v), func(a, b string) int {
		return cmp.Or(cmp.Compare(slices.Index(verbOrder, a), slices.Index(verbOrder, b)), cmp.Compare(a, b))
	})
}

// without returns the verbs that aren't in others.
func (v verbs) without(others verbs) verbs {
	left := verbs{}
	for verb := range v {
		if !others[verb] {
			left[verb] = true
		}
	}
	return left
}

// rules returns the grants as sorted rules. Resources of one group with the same
// verbs share a rule, and so do objects of one resource with the same verbs. A
// verb on a single object is left out if it is granted for the whole resource.
func (g *namespaceGrants) rules() []rbacv1.PolicyRule {
	// resource is "" in the key of a rule without names.
	type key struct{ group, resource, verbs string }
	merged := map[key]*rbacv1.PolicyRule{}
	for t, v := range g.verbs {
		k := key{group: t.group}
		if t.name != "" {
			k.resource = t.resource
			v = v.without(g.verbs[target{group: t.group, resource: t.resource}])
		}
		if len(v) == 0 {
			continue
		}
		k.verbs = strings.Join(v.sorted(), " ")
		rule := merged[k]
		if rule == nil {
			rule = &rbacv1.PolicyRule{APIGroups: []string{t.group}, Verbs: v.sorted()}
			merged[k] = rule
		}
		if t.name == "" || len(rule.Resources) == 0 {
			rule.Resources = append(rule.Resources, t.resource)
		}
		if t.name != "" {
			rule.ResourceNames = append(rule.ResourceNames, t.name)
		}
	}
	var rules []rbacv1.PolicyRule
	for _, rule := range merged {
		slices.Sort(rule.Resources)
		slices.Sort(rule.ResourceNames)
		rules = append(rules, *rule)
	}
	slices.SortFunc(rules, func(a, b rbacv1.PolicyRule) int {
		return cmp.Or(slices.Compare(a.APIGroups, b.APIGroups), slices.Compare(a.Resources, b.Resources),
			slices.Compare(a.ResourceNames, b.ResourceNames), slices.Compare(a.Verbs, b.Verbs))
	})
	return append(rules, sortedUnique(g.copied)...)
}

// Merge returns rules on resources that grant what the given ones do, sorted and without duplicates.
func Merge(rules []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	g := &namespaceGrants{verbs: map[target]verbs{}}
	for _, rule := range rules {
		names := rule.ResourceNames
		if len(names) == 0 {
			names = []string{""}
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, name := range names {
					g.allow(target{group, resource, name}, rule.Verbs...)
				}
			}
		}
	}
	return g.rules()
}

// sortedUnique returns rules in the order of their JSON, without duplicates.
func sortedUnique(rules []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	byText := map[string]rbacv1.PolicyRule{}
	for _, rule := range rules {
		text, err := json.Marshal(rule)
		if err != nil {
			panic(err) // can't happen: a rule has only strings
		}
		byText[string(text)] = rule
	}
	var all []rbacv1.PolicyRule
	for _, text := range slices.Sorted(maps.Keys(byText)) {
		all = append(all, byText[text])
	}
	return all
}
