// Package instances decides about requests that write instances of generated kinds, as a
// validating webhook: an instance must be one that its module can render, and that all
// policies accept.
//
// [Webhook] is the entry point. It gives the messages of pequod validate, because it evaluates
// the instance with the same code. The controller of instances refuses what the webhook would
// refuse, so nothing depends on the webhook: one that can't decide says so, and the API
// server goes on by the failure policy.
//
// [Registration] keeps a webhook for each kind of the catalog in the configuration, while the
// webhook itself runs in all replicas.
//
// There is no mutating webhook. The CRD has all defaults that depend on nothing. Every other
// default depends on other fields of the instance. If it were stored, it would stay when these
// fields change, because no field manager owns it, and the instance would render to another
// graph than the developer's file does.
//
// Non-goals: the package serves nothing (see package operator/admission/serve), and evaluates
// no CUE. It does not check deletions, nor the subresources status and scale.
package instances
