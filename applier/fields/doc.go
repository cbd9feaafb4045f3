// Package fields reads the managedFields of live objects: which fields a field
// manager owns and with which values, who owns a given field, and whether an
// object still is as it was applied.
//
// The entry points are [Parse], which reads the field paths that authors write,
// [OwnedDigest], which drift detection compares, and [Entries], which decodes
// managedFields. [Lost] names the fields behind a changed digest.
//
// OwnedDigest digests everything that one manager owns. The digest is taken
// right after an apply and compared later, so drift is detected without a
// request. Fields that controllers, webhooks and defaulting add belong to other
// managers and are not part of the digest: a Deployment's status or a Service's
// cluster IP is no drift.
//
// There is one way to address a field: a [Path] of FieldsV1 keys. The files
// build on each other:
//
//   - path.go: Path, its text form and its parser
//   - key.go: resolves one key in a decoded JSON value
//   - value.go: reads, sets and removes the value at a path
//   - set.go: Set, a decoded FieldsV1 tree, and set operations
//   - managedfields.go: Entry, one decoded entry of managedFields
//   - digest.go, lost.go, unowned.go: the questions listed above
//
// The package sends no requests and decides nothing: what to do about drift is
// decided by package engine.
//
// The structure of managedFields is defined by server-side apply,
// https://kubernetes.io/docs/reference/using-api/server-side-apply/.
package fields
