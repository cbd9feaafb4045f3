// Package rbac computes the minimal RBAC roles with which the accounts of graphs
// can apply and delete them.
//
// [Generate] is the entry point. It takes graphs and returns roles and bindings,
// whose order depends only on the graphs. A service account gets a Role in each
// namespace that has objects of its graphs, and a ClusterRole for cluster-scoped
// objects. One more ClusterRole for each account lets the applier watch the kinds
// of the graphs; it has the label by which the applier's own role aggregates it.
//
// The author of a graph decides about the rights that its account gets. Rights that
// reach beyond the namespace of the graph, or that can be used to gain others, are
// therefore listed in [Roles.Escalations]; callers must not grant them silently.
//
// [Rights] returns the same rights one by one, with the node that needs each of them,
// for checks of other users than accounts.
//
// The package is a pure function: it sends no requests. It has to know which verbs
// package cluster uses; a test on a cluster compares the two.
//
// The files: generate.go walks through the graphs; node.go has the verbs for a
// node, escalation.go the extra rights for nodes that are roles and bindings;
// grants.go collects verbs and merges them to rules, roles.go makes the objects,
// constrained.go those for an applier that may only impersonate what they allow, and
// summary.go describes them; rights.go lists the rights of nodes; resources.go maps kinds to resource names.
package rbac
