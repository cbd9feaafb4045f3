// Package metrics counts what the applier does, for Prometheus.
//
// [New] registers every metric; the methods of [Metrics] are told what happened,
// by graph. What is told of a graph goes with it: [Metrics.Forget] removes its
// series. Labels whose values users choose are bounded: node_id and gvk take so
// many values of one graph, and so many in all, and the rest is "other".
//
// The package serves nothing: the registry does.
package metrics
