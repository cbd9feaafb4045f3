// Package archive packs files into tar+gzip archives, and unpacks untrusted archives.
//
// [Pack] is deterministic. [Unpack] reads an archive into memory under the limits of its
// [Options]. It refuses names that lead out of the archive, links, devices, and files that
// would overwrite each other when they are written to a disk.
//
// The layer of an OCI artifact for GitOps tools is such an archive, and so is an artifact of
// Flux's source-controller. The package doesn't depend on either.
package archive
