// Package catalog keeps a summary of every graph of a cluster up to date: of the
// ResourceGraphs, and of the inventories of graphs that only the command line executes.
//
// [Catalog.Run] watches both kinds, and [Catalog.Next] waits for changes. [List] reads both once. A summary is
// what a list shows; the state of one graph with its nodes is [applier.Applier.Follow].
// The objects themselves are not kept: a thousand graphs cost a thousand summaries.
package catalog
