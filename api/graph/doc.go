// Package graph holds the rules of a ResourceGraph: what makes it sound, which
// node waits for which, and in what order they are applied.
//
// [Read] decodes a graph once and compiles its expressions; on the result,
// [Graph.Problems] lists everything that is wrong, [Graph.Edges] says who waits
// for whom and why, and [Graph.Waves] gives the order. [Check] is Read and
// Problems in one call. Renderer, applier and printers share these rules, so
// that what passes on a laptop is not refused in the cluster.
//
// Order is computed over node ids, here rather than with the graph of
// sigs.k8s.io/cli-utils: a node may read an object that another node of
// another graph writes, the order within a wave is the one that the author
// declared, a cycle is named the same way every time, and the API stays free
// of a kubectl-sized dependency. A test holds both to the same waves.
//
// The package talks to no cluster. It can't know the scope of custom kinds
// whose definition isn't in the graph, and doesn't guess it.
package graph
