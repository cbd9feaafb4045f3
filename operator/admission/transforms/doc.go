// Package transforms decides about requests that write Transforms, as a validating webhook. It
// checks what the rules of the CRD can't say: that the namespace is one whose Transforms are
// used, that references have the form of their type, and that the kind belongs to nothing else.
//
// [Webhook] is the entry point. The controller of Transforms checks all of it again and sets the
// status, so nothing depends on the webhook.
//
// Non-goals: the package fetches no module. If a Transform does not name its kind and its
// group, the module does, and the controller finds conflicts.
package transforms
