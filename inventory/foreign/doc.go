// Package foreign reads the inventories that other tools left in a cluster: the lists
// of objects that Flux, Argo CD, Helm, kapp, kpt and the command lines built on
// cli-utils own, and prune.
//
//   - source.go: the reference to an inventory, as in "flux:apps/web"
//   - record.go: what is read of an inventory, and how
//   - single.go: inventories in one object: Flux, kpt, cli-utils, Argo CD
//   - kapp.go, helm.go: inventories that are spread over several objects
//   - keep.go: annotations that make these tools keep an object
//
// [Reader.Read] is the entry point. The package only reads. Objects are identified as
// cli-utils does it, by group, kind, namespace and name, because most inventories have
// no version; [Reader.Live] finds the served one.
package foreign
