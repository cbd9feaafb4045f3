// Package artifact keeps the archives that Flux fetches for InstanceSources, and serves them.
//
// [Store] keeps the archives in the namespace of the manager, see package blob. So every replica
// serves what the leader has saved, and the last good archive stays while a source can't be
// rendered. [Server] is the HTTP server:
//
//	GET /artifacts/NAMESPACE/NAME/HEX.tar.gz
//
// HEX is the SHA-256 digest of the archive, and NAMESPACE and NAME are those of the InstanceSource.
// So the content at an address never changes.
//
// The server asks for no credentials, as that of source-controller: whoever reaches it and knows an
// address can read the archive. The package renders nothing and makes no objects of Flux.
//
// # References
//
// Equal archives of several InstanceSources are one blob, whose name is its digest. For each
// InstanceSource that has the archive there is a reference: a small blob, whose name is computed from
// the InstanceSource and the digest. An archive stays as long as there is a reference to it, and is
// served only at the addresses of the InstanceSources that refer to it. Nothing else counts
// references, neither memory nor a status, so a restart and a restored etcd change nothing:
//
//   - A reference is written before the archive, and deleted before it. If a process is killed, an
//     archive without a reference is garbage, which the next Prune deletes, also the one at the
//     start. A reference without the whole archive is none, and Save completes the archive.
//   - Save and Prune exclude each other, and decide by a list from the API server. So no archive is
//     deleted to which a reference was just written. Only the leader calls them. If a former leader
//     deletes an archive late, its InstanceSource misses it at its interval, and renders again.
//   - An InstanceSource has the archive that is published and the one before it, which Flux may be
//     about to fetch. Saving the next archive deletes the reference to the latter.
//
// # Limits
//
// Save refuses an archive that exceeds the quota of the namespace, that of the cluster, or a rate. A
// namespace is charged for the archives to which its InstanceSources refer, each counted once. In the
// cluster, an archive counts once. The rates are token buckets in memory; see limits.go.
//
// Earlier versions saved an archive for each InstanceSource that had it, with no reference. It is
// served until the InstanceSource publishes again, soon after the start, or is deleted. It
// doesn't count.
package artifact
