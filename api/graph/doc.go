// Package graph implements the rules of a ResourceGraph: validation, dependencies
// between nodes, and apply order. The renderer, the applier and the printers share
// these rules, so a graph that is valid on a laptop is valid in the cluster.
//
// [Read] is the entry point. It decodes a graph once and compiles its expressions
// (read.go, readresource.go, compile.go, crd.go). On the result,
//
//   - [Graph.Problems] validates the graph (check.go, checknames.go,
//     checkpolicies.go, secrets.go),
//   - [Graph.Edges] returns the dependencies and their causes (edges.go),
//   - [Graph.Waves] returns the apply order (waves.go, cycles.go).
//
// [Check] is Read and Problems in one call. [ClusterScoped] and
// [OrphanedByDefault] are facts about kinds (kinds.go), [KeepReason] is one
// about an object (keep.go), and [RenderHash] identifies a revision of a graph.
//
// The order is computed here and not with the graph of sigs.k8s.io/cli-utils for
// four reasons: a node may read an object that another graph writes, the order
// within a wave is the declared order, cycles are reported the same way every
// time, and this package must not depend on kubectl. A test compares the waves
// of both implementations.
//
// The package does not talk to a cluster. It does not know the scope of custom
// kinds whose CustomResourceDefinition is not part of the graph, and does not guess
// it.
//
// An example: of the nodes
//
//	nodes:
//	- id: settings        # a ConfigMap
//	- id: web             # a Deployment that has {$from: "settings.data.image"}
//	- id: ingress
//	  dependencies: [web]
//
// Edges returns web → settings (Reference) and ingress → web (Dependency), and
// Waves returns [[settings] [web] [ingress]].
package graph
