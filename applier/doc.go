// Package applier makes a cluster match a ResourceGraph.
//
// An [Applier] is the engine (package engine) with hands and eyes: it carries
// out the engine's actions through package cluster, feeds it with what watches
// see, and keeps the inventory in a store. [Applier.Apply] executes a graph and
// waits, [Applier.Delete] removes one, [Applier.Plan] says what an apply would
// change, and [Applier.Status] how a graph is now.
//
// Nothing of a run lives in the process alone: one that is killed at any moment
// is finished by the next.
package applier
