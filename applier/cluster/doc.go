// Package cluster executes the actions of package engine against a Kubernetes
// cluster: it reads, applies, previews, deletes and releases objects. It also
// lists and watches objects for the callers of the engine.
//
// The entry points are [New], which returns a [Client], [Client.Do], which
// executes one [engine.Action], and [Client.Watch], which reports changes of a
// [Selection] of objects. Errors that describe an object are returned as
// [*engine.Failure], whose field Terminal is set if a retry can't help.
//
// Objects are written by server-side apply without force. A conflict with
// another field manager is therefore found by the API server, and a write costs
// one request.
//
// The package makes no decisions about graphs and keeps no state except which
// kinds the cluster serves. Inventories are read and written by package
// inventory.
//
// The files, from the bottom up:
//
//   - errors.go: errors of the API server and the network as engine.Failure
//   - retry.go: requests that are repeated after errors of the API server
//   - conflict.go: field manager conflicts in API server messages
//   - response.go, kinds.go: response bodies; discovery of kinds
//   - client.go: Client, its identity and its options
//   - distant.go: Client for a cluster that isn't trusted and may be away
//   - request.go: requests for a single object
//   - list.go, watch.go: lists and watches
//   - redact.go: removes the values of Secrets from errors
//   - apply.go, preview.go, delete.go, ownership.go, targets.go: one file for
//     each kind of action
//   - action.go: dispatches an action
package cluster
