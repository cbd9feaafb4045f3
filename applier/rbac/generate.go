package rbac

import (
	"cmp"
	"errors"
	"fmt"
	"maps"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// LabelAggregate marks the roles that the applier's own role takes up.
const LabelAggregate = "pequod.io/aggregate-to-applier"

// DefaultServiceAccount is the account of graphs that name none.
const DefaultServiceAccount = "pequod"

// Options say for what the roles are made.
type Options struct {
	// ServiceAccount is the account of graphs that name none; empty means
	// [DefaultServiceAccount].
	ServiceAccount string
	// ByName grants access to the objects of the graphs alone, by their names,
	// also where they lie in a namespace. Objects that left their graph can't
	// be removed then, unless the graph as it was is among the graphs.
	ByName bool
	// CLI adds what an account needs that runs pequod apply and pequod delete:
	// to keep inventories, in ConfigMaps or in the status of ResourceGraphs that
	// are in the cluster, and to watch.
	CLI bool
	// NoCauses leaves out what is only read to say why an object isn't ready.
	NoCauses bool
	// WatchSecrets lets the applier watch the Secrets of all namespaces; without
	// it they are polled, as the account of their graph.
	WatchSecrets bool
	// Resources are those of kinds that neither Kubernetes nor a graph defines.
	Resources Resources
}

// Roles are what graphs need.
type Roles struct {
	// ClusterRoles are those of accounts, and then those for watches.
	ClusterRoles        []rbacv1.ClusterRole
	ClusterRoleBindings []rbacv1.ClusterRoleBinding
	Roles               []rbacv1.Role
	RoleBindings        []rbacv1.RoleBinding
	// Notes say what the graphs need and can't be told from them.
	Notes []string
}

// Generate says what the accounts of graphs need. The error joins an
// [*UnknownKindError] for every kind whose resource isn't known.
func Generate(graphs []*v1alpha1.ResourceGraph, o Options) (*Roles, error) {
	if o.ServiceAccount == "" {
		o.ServiceAccount = DefaultServiceAccount
	}
	g := &generator{options: o, resources: Resources{}, grants: map[account]*grants{}, unknown: map[schema.GroupKind]bool{}, made: map[string]bool{}}
	maps.Copy(g.resources, o.Resources)
	for _, rg := range graphs {
		g.resources.define(rg)
	}
	for _, rg := range graphs {
		g.graph(rg)
	}
	if len(g.problems) > 0 {
		return nil, errors.Join(g.problems...)
	}
	return g.roles(), nil
}

// account is a service account.
type account struct{ namespace, name string }

// grants are what an account is granted, by namespace; "" is the whole cluster.
type grants struct {
	places  map[string]*place
	watched map[schema.GroupResource]bool
}

func (g *grants) at(namespace string) *place {
	p := g.places[namespace]
	if p == nil {
		p = &place{verbs: map[target]verbs{}}
		g.places[namespace] = p
	}
	return p
}

type generator struct {
	options   Options
	resources Resources
	grants    map[account]*grants
	notes     []string
	problems  []error
	unknown   map[schema.GroupKind]bool // that there is a problem of
	made      map[string]bool           // namespaces that graphs make
}

func (g *generator) of(a account) *grants {
	if g.grants[a] == nil {
		g.grants[a] = &grants{places: map[string]*place{}, watched: map[schema.GroupResource]bool{}}
	}
	return g.grants[a]
}

// manyNodes is how many nodes a graph may have whose inventory is always part of
// its status: it lists the objects of the graph, and those that it had before.
// Larger ones are kept in ConfigMaps, by the account.
const manyNodes = v1alpha1.MaxInventory / 2

// graph adds what one graph needs.
func (g *generator) graph(rg *v1alpha1.ResourceGraph) {
	to := g.of(account{rg.Namespace, cmp.Or(rg.Spec.ServiceAccountName, g.options.ServiceAccount)})
	if g.options.CLI || len(rg.Spec.Graph.Nodes) > manyNodes {
		to.at(rg.Namespace).allow(target{resource: "configmaps"}, "get", "list", "create", "patch", "delete")
	}
	if g.options.CLI {
		p := to.at(rg.Namespace)
		p.allow(target{group: v1alpha1.Group, resource: "resourcegraphs"}, "get", "list")
		p.allow(target{group: v1alpha1.Group, resource: "resourcegraphs/status"}, "patch")
	}
	read := graph.Read(rg)
	for i := range read.Nodes {
		n := &node{Node: &read.Nodes[i], graph: rg}
		if err := g.node(to, n); err != nil && !g.unknown[n.GroupKind()] {
			g.unknown[n.GroupKind()] = true
			g.problems = append(g.problems, fmt.Errorf("graph %s/%s: node %s: %w", rg.Namespace, rg.Name, n.ID, err))
		}
	}
}

func (g *generator) node(to *grants, n *node) error {
	r, err := g.resources.find(n.GroupKind())
	if err != nil {
		return err
	}
	namespace := ""
	if r.Namespaced {
		namespace = cmp.Or(n.Object.Namespace, n.graph.Namespace)
	}
	gk := n.GroupKind()
	at := target{group: gk.Group, resource: r.Name}
	if g.options.WatchSecrets || gk != (schema.GroupKind{Kind: "Secret"}) {
		to.watched[schema.GroupResource{Group: at.group, Resource: at.resource}] = true
	}
	p := to.at(namespace)
	// What isn't in a namespace is everybody's.
	if n.readOnly() || g.options.ByName || namespace == "" {
		at.name = n.Object.Name
	}
	if !n.readOnly() && gk == (schema.GroupKind{Kind: "Namespace"}) {
		g.made[n.Object.Name] = true
	}
	p.allow(at, n.verbs()...)
	if n.readOnly() {
		return nil
	}
	if at.name == "" {
		// To find in one request what there is, and what changed of kinds that
		// the applier may not watch.
		p.allow(at, "list")
	}
	if g.options.CLI && at.name == "" {
		p.allow(at, "watch")
	}
	if !g.options.NoCauses && namespace != "" {
		allowCauses(p, gk)
	}
	g.escalation(to.at(namespace), n)
	return nil
}
