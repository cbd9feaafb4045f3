package controller

import (
	"time"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
)

// Recorder is told what happens to graphs, to count it.
type Recorder interface {
	// Declare is told which nodes a graph has, before anything else of them.
	Declare(*v1alpha1.ResourceGraph)
	// Managed is told what the inventory of a graph holds.
	Managed(ns, graph string, entries []inventory.Entry)
	// NodeApplied is told how long the request took that applied an object.
	NodeApplied(ns, graph, node string, op engine.Operation, took time.Duration)
	NodeApplyFailed(ns, graph, node, reason string)
	// NodeReady is told how long an object took to be ready after it was applied.
	NodeReady(ns, graph, node string, waited time.Duration)
	ReadinessTimeout(ns, graph, node string)
	// Executed is told how an execution ended: Completed or Failed.
	Executed(ns, graph, phase string, took time.Duration, nodes, waves int)
	// AdoptionDone is told of every object that was to be adopted.
	AdoptionDone(ns, graph, mode string, err error)
	// Drift is told of every object that others changed.
	Drift(ns, graph, node string)
	// Reconciled is told of every step: success, or error where something failed.
	Reconciled(ns, graph, result string, took time.Duration)
	// ReconcileFailed is told why a graph as a whole can't be executed.
	ReconcileFailed(ns, graph, reason string)
	// Forget is told that a graph is gone.
	Forget(ns, graph string)
}

type nobody struct{}

func (nobody) Declare(*v1alpha1.ResourceGraph)                                 {}
func (nobody) Managed(_, _ string, _ []inventory.Entry)                        {}
func (nobody) NodeApplied(_, _, _ string, _ engine.Operation, _ time.Duration) {}
func (nobody) NodeApplyFailed(_, _, _, _ string)                               {}
func (nobody) NodeReady(_, _, _ string, _ time.Duration)                       {}
func (nobody) ReadinessTimeout(_, _, _ string)                                 {}
func (nobody) Executed(_, _, _ string, _ time.Duration, _, _ int)              {}
func (nobody) AdoptionDone(_, _, _ string, _ error)                            {}
func (nobody) Drift(_, _, _ string)                                            {}
func (nobody) Reconciled(_, _, _ string, _ time.Duration)                      {}
func (nobody) ReconcileFailed(_, _, _ string)                                  {}
func (nobody) Forget(_, _ string)                                              {}
