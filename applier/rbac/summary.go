package rbac

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// sortedAccounts returns the accounts in the order of their namespaces and names.
func (g *generator) sortedAccounts() []account {
	return slices.SortedFunc(maps.Keys(g.accounts), func(a, b account) int {
		return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
	})
}

// summary returns the lines of Roles.Summary.
func (g *generator) summary() []string {
	var lines, accounts []string
	watched := map[schema.GroupResource]bool{}
	for _, a := range g.sortedAccounts() {
		grants := g.accounts[a]
		for _, namespace := range slices.Sorted(maps.Keys(grants.namespaces)) {
			if rights := grants.namespaces[namespace].summary(); rights != "" {
				where := "in namespace " + namespace
				if namespace == "" {
					where = "in the cluster"
				}
				lines = append(lines, fmt.Sprintf("service account %s/%s %s: %s", a.namespace, a.name, where, rights))
			}
		}
		maps.Copy(watched, grants.watched)
		accounts = append(accounts, a.namespace+"/"+a.name)
	}
	if g.options.Constrained != (types.NamespacedName{}) && len(accounts) > 0 {
		lines = append(lines, fmt.Sprintf("applier %s: may act as %s", g.options.Constrained, strings.Join(accounts, ", ")))
	}
	if len(watched) > 0 {
		var names []string
		for resource := range watched {
			names = append(names, resource.String())
		}
		slices.Sort(names)
		lines = append(lines, "applier: watches "+strings.Join(names, ", "))
	}
	return lines
}

// summary returns the rights in a few words: "changes services; reads events, pods".
func (g *namespaceGrants) summary() string {
	groups := map[string]map[string][]string{"binds": {}, "changes": {}, "reads": {}} // the names of objects, by resource
	for t, v := range g.verbs {
		group := "reads"
		switch {
		case v["bind"]:
			group = "binds"
		case v["create"] || v["patch"] || v["delete"]:
			group = "changes"
		}
		resource := target{group: t.group, resource: t.resource}.String()
		groups[group][resource] = append(groups[group][resource], t.name)
	}
	var parts []string
	for _, group := range []string{"changes", "reads", "binds"} {
		var all []string
		for _, resource := range slices.Sorted(maps.Keys(groups[group])) {
			all = append(all, resource+named(groups[group][resource]))
		}
		if len(all) > 0 {
			parts = append(parts, group+" "+strings.Join(all, ", "))
		}
	}
	if len(g.copied) > 0 {
		parts = append(parts, fmt.Sprintf("has the %d rules of the roles that it writes", len(sortedUnique(g.copied))))
	}
	return strings.Join(parts, "; ")
}

// named returns the suffix for the objects of a resource that are granted by name.
// The name "" stands for all objects.
func named(names []string) string {
	switch {
	case slices.Contains(names, ""):
		return ""
	case len(names) == 1:
		return " " + names[0]
	}
	return fmt.Sprintf(" (%d by name)", len(names))
}
