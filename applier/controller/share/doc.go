// Package share holds what all graphs of one controller share, so that a
// thousand graphs cost little more than one:
//
//   - a pool of requests and one of computations, each bounded as a whole, per
//     namespace and per graph (pool.go, turns.go);
//   - one watch per kind for the objects of all graphs (hub.go, watcher.go), and one
//     per kind and namespace for objects of others to which they refer
//     (references.go);
//   - one connection to the API server for all service accounts (identity.go);
//   - one list per kind for all graphs that are read at the same time, as after
//     a start (survey.go);
//   - one read of a namespace's graphs for all graphs that ask which objects the
//     others list, or which of them have inventories in ConfigMaps (reads.go).
//
// All of them but the pools are those of one cluster, see [Share.Distant].
//
// [New] returns a [Share], and [Share.Run] makes it work. The rest of the
// controller uses nothing but the methods of Share, and is known here only as
// [Graph].
//
// The package decides nothing about a graph. It reports observations and
// answers; what follows from them is the business of the graph's driver and its
// engine.
package share
