// Package graphs reads and writes ResourceGraphs as the applier itself.
//
// [New] returns a [Client]. It gets, lists and watches graphs (client.go), adds
// and removes their finalizer (finalizer.go), writes their status (status.go), and
// looks whether their definition is being deleted (definition.go). Every write is conditional on the graph's UID and resource
// version, and a conflict is resolved by reading the graph again.
//
// The package caches nothing and decides nothing: what a status contains, and
// when it is written, is the business of the controller.
package graphs
