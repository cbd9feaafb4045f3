// Package fields answers questions about the fields of a live object: which of
// them a field manager holds and with which values, who holds a field that is
// wanted, and whether an object still is as it was applied.
//
// [OwnedDigest] gives a digest of everything a manager holds. Taken right after an
// apply and compared later, it tells without a request whether anybody changed
// or took one of those fields, and says nothing of the fields that controllers
// and webhooks add: so a Deployment's status, a Service's address and defaulted
// values are no drift.
//
// The structure of managedFields is that of server-side apply,
// https://kubernetes.io/docs/reference/using-api/server-side-apply/.
package fields
