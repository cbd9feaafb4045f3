// Package receiver is the controller of Receivers.
//
// The leader checks Receivers and writes their status. All replicas serve webhooks. They find the
// Receiver of a path in their cache, so strangers can't cause requests to the API server.
//
// The leader also runs the sources that ask for messages, in one goroutine for each Receiver.
//
// [Setup] is the entry point. reconcile.go has the controller, deliver.go performs the effects
// of a message, webhooks.go serves webhooks, and consumers.go and sources.go run sources.
package receiver
