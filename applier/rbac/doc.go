// Package rbac says what the accounts of graphs must be allowed to do, and no
// more than that.
//
// [Generate] is the entry point: graphs go in, roles and their bindings come out,
// in an order that depends on nothing but the graphs. An account gets a Role in
// each namespace that has objects of its graphs, and a ClusterRole for what lies
// in none. The role that lets the applier watch the kinds of the graphs is beside
// them, with the label by which the applier's own role takes it up.
//
// The package is a pure function: it asks no cluster. What it knows of verbs is
// what package cluster uses; a test on a cluster holds the two together.
package rbac
