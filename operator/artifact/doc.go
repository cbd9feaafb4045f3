// Package artifact keeps the archives that Flux fetches for InstanceSources, and serves them.
//
// [Store] keeps each archive as a blob in the namespace of the manager, see package blob. So every
// replica serves what the leader has saved, and the last good archive stays while a source can't
// be rendered. [Server] is the HTTP server:
//
//	GET /artifacts/NAMESPACE/NAME/HEX.tar.gz
//
// HEX is the SHA-256 digest of the archive, and NAMESPACE and NAME are those of the InstanceSource.
// So the content at an address never changes.
//
// The server asks for no credentials, as that of source-controller: whoever reaches it and knows an
// address can read the archive. The package renders nothing and makes no objects of Flux.
package artifact
