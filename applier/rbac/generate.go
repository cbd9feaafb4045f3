package rbac

import (
	"cmp"
	"errors"
	"fmt"
	"maps"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// DefaultServiceAccount is the account of graphs that don't name one.
const DefaultServiceAccount = v1alpha1.DefaultServiceAccount

// Options configure [Generate]. The zero value is for the applier in a cluster.
type Options struct {
	// ServiceAccount is the account of graphs that don't name one; empty means
	// [DefaultServiceAccount].
	ServiceAccount string
	// ByName limits the rights to the names of the graphs' objects, also in
	// namespaces. An object that has left its graph can then be deleted only if
	// the graph's earlier version is among the graphs.
	ByName bool
	// CLI adds the rights to run pequod apply and pequod delete: to keep
	// inventories in ConfigMaps or in the status of ResourceGraphs, and to watch.
	CLI bool
	// NoCauses leaves out the rights to read what is only needed to find out why
	// an object isn't ready.
	NoCauses bool
	// WatchSecrets lets the applier watch the Secrets of all namespaces. Without
	// it, Secrets are polled as the account of their graph.
	WatchSecrets bool
	// Constrained is the service account of an applier that may only impersonate what
	// these roles allow: the accounts of the graphs, with their verbs on their resources.
	// The zero value is an applier that may impersonate accounts without constraints.
	Constrained types.NamespacedName
	// Resources are the resources of kinds that neither Kubernetes nor one of the
	// graphs defines.
	Resources Resources
}

// Roles are the objects to apply.
type Roles struct {
	// ClusterRoles has the roles of accounts, and after them the roles for
	// watches, which have no binding.
	ClusterRoles        []rbacv1.ClusterRole
	ClusterRoleBindings []rbacv1.ClusterRoleBinding
	Roles               []rbacv1.Role
	RoleBindings        []rbacv1.RoleBinding
	// Notes are lines about rights that can't be computed from the graphs.
	Notes []string
	// Escalations are lines about rights that reach beyond the namespace of a graph,
	// or with which its account can gain other rights. Every user who may write the
	// graph gains them, so they need consent. They are in the order of the graphs.
	Escalations []string
	// Summary has a line about each account in each namespace, and one about the
	// applier.
	Summary []string
}

// Generate returns the roles that the accounts of graphs need. The error joins an
// [*UnknownKindError] for every kind whose resource isn't known.
func Generate(graphs []*v1alpha1.ResourceGraph, o Options) (*Roles, error) {
	if o.ServiceAccount == "" {
		o.ServiceAccount = DefaultServiceAccount
	}
	g := &generator{
		options: o, resources: Resources{}, accounts: map[account]*accountGrants{},
		unknownKinds: map[schema.GroupKind]bool{}, createdNamespaces: map[string]bool{},
	}
	maps.Copy(g.resources, o.Resources)
	// All definitions come first: a graph may use a kind that a later one defines.
	for _, rg := range graphs {
		g.resources.defineFromGraph(rg)
	}
	for _, rg := range graphs {
		g.addGraph(rg)
	}
	g.allowBinds()
	if len(g.problems) > 0 {
		return nil, errors.Join(g.problems...)
	}
	return g.roles(), nil
}

// generator collects the grants of all accounts.
type generator struct {
	options           Options
	resources         Resources // those of options and those that graphs define
	accounts          map[account]*accountGrants
	binds             []bind                    // bindings that are nodes
	notes             []string                  // see Roles.Notes
	escalations       []string                  // see Roles.Escalations
	problems          []error                   // unknown kinds, in the order of the graphs
	unknownKinds      map[schema.GroupKind]bool // kinds that are already in problems
	createdNamespaces map[string]bool           // namespaces that are nodes of a graph
}

// grantsOf returns the grants of an account, which it creates if necessary.
func (g *generator) grantsOf(a account) *accountGrants {
	if g.accounts[a] == nil {
		g.accounts[a] = &accountGrants{namespaces: map[string]*namespaceGrants{}, watched: map[schema.GroupResource]bool{}}
	}
	return g.accounts[a]
}

// maxNodesInStatus is the number of nodes up to which a graph's inventory always
// fits in its status: the inventory has the objects of the graph and may have as
// many that left it. Larger inventories are kept in ConfigMaps, by the account.
const maxNodesInStatus = v1alpha1.MaxInventory / 2

// addGraph grants what one graph needs.
func (g *generator) addGraph(rg *v1alpha1.ResourceGraph) {
	to := g.grantsOf(account{rg.Namespace, cmp.Or(rg.Spec.ServiceAccountName, g.options.ServiceAccount)})
	own := to.in(rg.Namespace)
	if g.options.CLI || len(rg.Spec.Graph.Nodes) > maxNodesInStatus {
		own.allow(target{resource: "configmaps"}, "get", "list", "create", "patch", "delete")
	}
	if g.options.CLI {
		own.allow(target{group: v1alpha1.Group, resource: "resourcegraphs"}, "get", "list")
		own.allow(target{group: v1alpha1.Group, resource: "resourcegraphs/status"}, "patch")
	}
	if ref := rg.Spec.KubeConfig; ref != nil {
		own.allow(target{resource: "secrets", name: ref.SecretRef.Name}, "get", "list", "watch")
		g.notes = append(g.notes, fmt.Sprintf(
			"graph %s/%s: the objects are in the %s, which needs roles of its own: generate them from the graph without spec.kubeConfig", rg.Namespace, rg.Name, graph.Cluster(rg)))
		return
	}
	read := graph.Read(rg)
	for i := range read.Nodes {
		n := &node{Node: &read.Nodes[i], graph: rg}
		if err := g.addNode(to, n); err != nil && !g.unknownKinds[n.GroupKind()] {
			g.unknownKinds[n.GroupKind()] = true
			g.problems = append(g.problems, fmt.Errorf("graph %s/%s: node %s: %w", rg.Namespace, rg.Name, n.ID, err))
		}
	}
}

// addNode grants what one node needs. The error is an [*UnknownKindError].
func (g *generator) addNode(to *accountGrants, n *node) error {
	r, err := g.resources.find(n.GroupKind())
	if err != nil {
		return err
	}
	namespace := ""
	if r.Namespaced {
		namespace = cmp.Or(n.Object.Namespace, n.graph.Namespace)
	}
	n.Object.Namespace = namespace // of a kind whose scope was not known before
	gk := n.GroupKind()
	objects := target{group: gk.Group, resource: r.Name}
	if g.options.WatchSecrets || gk != (schema.GroupKind{Kind: "Secret"}) {
		to.watched[schema.GroupResource{Group: objects.group, Resource: objects.resource}] = true
	}
	grants := to.in(namespace)
	// Cluster-scoped objects are shared by all tenants of the cluster, so rights
	// on them are always limited to names.
	if n.readOnly() || g.options.ByName || namespace == "" {
		objects.name = n.Object.Name
	}
	if !n.readOnly() && gk == (schema.GroupKind{Kind: "Namespace"}) {
		g.createdNamespaces[n.Object.Name] = true
	}
	grants.allow(objects, n.verbs()...)
	switch namespace {
	case n.graph.Namespace:
	case "":
		g.escalates(n, "rights on a cluster-scoped object: "+objects.String())
	default:
		g.escalates(n, "rights in namespace "+namespace+": "+objects.String())
	}
	if n.readOnly() {
		return nil
	}
	if objects.name == "" {
		// One list finds all objects of the graph, and the changes of kinds that
		// the applier may not watch.
		grants.allow(objects, "list")
	}
	if g.options.CLI && objects.name == "" {
		grants.allow(objects, "watch")
	}
	if !g.options.NoCauses && namespace != "" {
		allowCauses(grants, schema.GroupResource{Group: gk.Group, Resource: r.Name})
	}
	g.allowEscalation(to, namespace, n)
	return nil
}
