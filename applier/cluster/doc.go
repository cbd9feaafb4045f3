// Package cluster carries out what the engine decides: it reads, applies,
// deletes and releases objects of a Kubernetes cluster, and watches them.
//
// [New] makes a client, [Client.Do] executes one action of package engine,
// [Client.Watch] reports what happens to the objects of a kind. Every error
// comes back as an [*engine.Failure] that says whether another try may help.
//
// Objects are written by server-side apply, without force: who else holds a
// wanted field is the API server's answer, so that a write costs one request.
// The package decides nothing about graphs and remembers nothing but which
// kinds the cluster serves.
package cluster
