package rbac

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// target is what a verb is for: the objects of a resource, or one of them.
type target struct{ group, resource, name string }

type verbs map[string]bool

// place is what is granted in a namespace, or in the cluster.
type place struct {
	verbs map[target]verbs
	// more are the rules that graphs themselves grant: nobody may grant what
	// they don't hold.
	more []rbacv1.PolicyRule
}

func (p *place) allow(t target, all ...string) {
	if p.verbs[t] == nil {
		p.verbs[t] = verbs{}
	}
	for _, v := range all {
		p.verbs[t][v] = true
	}
}

// verbOrder is that of kubectl's documentation.
var verbOrder = []string{"get", "list", "watch", "create", "patch", "delete", "bind"}

func (v verbs) sorted() []string {
	return slices.SortedFunc(maps.Keys(v), func(a, b string) int {
		return cmp.Compare(slices.Index(verbOrder, a), slices.Index(verbOrder, b))
	})
}

// rules are the grants as rules: those of one group with the same verbs
// together, and the objects of one resource with the same verbs.
func (p *place) rules() []rbacv1.PolicyRule {
	type key struct{ group, resource, verbs string }
	merged := map[key]*rbacv1.PolicyRule{}
	for t, v := range p.verbs {
		k := key{group: t.group}
		if t.name != "" {
			k.resource = t.resource
			v = v.without(p.verbs[target{group: t.group, resource: t.resource}])
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
	return append(rules, unique(p.more)...)
}

// without are the verbs that aren't among others.
func (v verbs) without(others verbs) verbs {
	left := verbs{}
	for verb := range v {
		if !others[verb] {
			left[verb] = true
		}
	}
	return left
}

// unique sorts rules and leaves out those that stand there twice.
func unique(rules []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	byText := map[string]rbacv1.PolicyRule{}
	for _, rule := range rules {
		text, err := json.Marshal(rule)
		if err != nil {
			panic(err) // it is strings and lists of them
		}
		byText[string(text)] = rule
	}
	var all []rbacv1.PolicyRule
	for _, text := range slices.Sorted(maps.Keys(byText)) {
		all = append(all, byText[text])
	}
	return all
}
