// Package reaction does what the rules of Monitors ask for, as the service account of the Monitor,
// in its namespace.
//
// [Reactor.Do] is the entry point. A reaction that is repeated after a crash does no harm: Pods
// are evicted by UID, fields are applied, and requests for reconciliations have the time of the
// firing. A request of http has the same Idempotency-Key. Only a command of exec happens again.
//
// A field isn't changed if its manager would take it back: an autoscaler, Flux, Argo CD, or a graph that
// doesn't ignore the field. Fields of other owners are taken over.
package reaction
