// Package metrics exports metrics of the applier to Prometheus.
//
// [New] registers all metrics and returns a [Metrics], which implements the
// Recorder of package controller. Its methods in events.go count what happens;
// those in graph.go keep the state of each graph that labels and gauges need.
//
// The series of a graph are removed with the graph, by [Metrics.Forget]. Labels
// whose values users choose are bounded: resourcegraph, node_id and gvk take a limited
// number of values per graph and in total (capped.go), and all further values become
// "other". So sums over all values are exact.
//
// The package doesn't serve the metrics; the program does.
package metrics
