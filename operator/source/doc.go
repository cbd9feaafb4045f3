// Package source renders the instances in artifacts of Flux sources to artifacts that Flux
// applies. So a repository of instances needs no CI that commits graphs.
//
// [Setup] is the entry point: it adds the controller of InstanceSources to a manager. One
// reconciliation goes through these steps:
//
//  1. input.go finds the artifact in the status of the source, which flux.go watches.
//  2. fetch.go downloads the archive, verifies its digest, and unpacks the files of the path.
//  3. build.go finds the instances in the files, has each rendered by the platform of its kind,
//     and refuses everything else.
//  4. The archive of the graphs is saved by package artifact, whose server hands it out.
//  5. publish.go writes the ExternalArtifact, which belongs to the InstanceSource.
//
// All files are rendered or none: if one has a mistake, the last artifact stays. The same graphs
// give the same archive. Then the artifact keeps its revision, and Flux has nothing to do.
//
// Non-goals: the package applies no graph and evaluates no CUE. Whether the graphs may be applied
// is decided by the account of the Kustomization.
package source
