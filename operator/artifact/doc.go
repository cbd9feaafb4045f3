// Package artifact keeps the archives that Flux fetches for InstanceSources, and serves them.
//
// [Store] keeps each archive as a blob in the namespace of the manager, see package blob. So every
// replica serves what one of them has saved, also after it has lost its disk, and the last good
// archive stays while a source can't be rendered. [Server] is the HTTP server:
//
//	GET /artifacts/NAMESPACE/NAME/HEX.tar.gz
//
// HEX is the digest of the archive, and NAMESPACE and NAME are those of the InstanceSource. What
// has an address never changes.
//
// The package renders nothing, and knows no Flux. Everyone who reaches the server can read what it
// has, as with the server of source-controller.
package artifact
