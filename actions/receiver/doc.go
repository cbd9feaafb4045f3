// Package receiver is the controller of Receivers.
//
// The leader checks Receivers and writes their status. All replicas serve webhooks: they find the
// Receiver of a path in their cache, so a request of a stranger isn't one to the API server.
//
// The leader also runs the sources that ask for messages, in one goroutine for each Receiver.
//
// [Setup] is the entry point. reconcile.go has the controller, deliver.go lets a message have its
// effects, webhooks.go serves, and consumers.go and sources.go run sources.
package receiver
