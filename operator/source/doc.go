// Package source renders the instances in artifacts of Flux to artifacts that Flux applies. With it,
// a repository of instances needs no CI that commits graphs.
//
// [Setup] is the entry point: it adds the controller of InstanceSources to a manager. A
// reconciliation has these steps:
//
//  1. input.go finds the artifact in the status of the source, which flux.go watches.
//  2. reconcile.go ends here if neither the archive nor the platforms have changed.
//  3. fetch.go downloads the archive, verifies its digest, and unpacks the files of the path.
//  4. build.go finds the instances in the files, and renders each with the platform of its kind.
//     All other objects are refused.
//  5. Package artifact saves the archive of the graphs and serves it.
//  6. publish.go writes the ExternalArtifact, whose owner is the InstanceSource.
//
// All files are rendered or none: if one has a mistake, the last artifact stays. Equal graphs give
// equal archives. The artifact then keeps its revision, and Flux has nothing to do.
//
// Non-goals: the package applies no graph and evaluates no CUE. The account of the Kustomization
// decides whether the graphs may be applied.
package source
