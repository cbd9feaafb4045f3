// Package receiver is the controller of Receivers.
//
// The leader checks Receivers and writes their status. All replicas serve webhooks: they find the
// Receiver of a path in their cache, so a request of a stranger isn't one to the API server.
//
// [Setup] is the entry point. reconcile.go has the controller, deliver.go lets a message have its
// effects, and webhooks.go serves.
package receiver
