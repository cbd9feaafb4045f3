// Package applier makes a cluster match a ResourceGraph, from a command line.
//
// An [Applier] connects package engine, which decides, with package execute, which
// sends requests, with the watches of package cluster, and with a store of
// inventories. [Applier.Apply] executes a graph and waits for it, [Applier.Delete]
// removes one, [Applier.Plan] predicts an apply, [Applier.Status] observes a
// graph, and [Applier.Follow] observes it continuously.
//
// No state of a run exists only in the process: the next run completes one that
// was killed.
//
// run.go is the loop of Apply and Delete, shutdown.go its end, and supersede.go
// detects competing runs. Plan and Status drive their engines with inspect.go
// instead, which neither waits nor watches.
//
// The package doesn't implement the controller, which executes many graphs at a
// time and stores its state in their status: see package controller.
package applier
