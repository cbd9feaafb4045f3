package controller

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
)

// Recorder counts what happens to graphs; package metrics implements it. Its
// methods are called by several goroutines, with the namespace and name of the
// graph, and must not block.
type Recorder interface {
	// Declare is called with every graph that is executed, before anything else
	// is recorded about its nodes.
	Declare(*v1alpha1.ResourceGraph)
	// Managed records the inventory of a graph.
	Managed(ns, graph string, entries []inventory.Entry)
	// NodeApplied records an apply, and how long its request took.
	NodeApplied(ns, graph, node string, op engine.Operation, took time.Duration)
	// NodeApplyFailed records every failed attempt of a node.
	NodeApplyFailed(ns, graph, node, reason string)
	// NodeReady records how long a node took from its apply until it was ready.
	NodeReady(ns, graph, node string, waited time.Duration)
	// ReadinessTimeout records that a node wasn't ready within its timeout.
	ReadinessTimeout(ns, graph, node string)
	// Executed records the end of an execution. Phase is Completed or Failed.
	Executed(ns, graph, phase string, took time.Duration, nodes, waves int)
	// AdoptionDone records the adoption of an object, or why it failed.
	AdoptionDone(ns, graph, mode string, err error)
	// Drift records that others changed or deleted an object.
	Drift(ns, graph, node string)
	// Reconciled records a step: "success", or "error" if the graph can't be
	// executed at the moment.
	Reconciled(ns, graph, result string, took time.Duration)
	// Waiting records how many graphs wait for a step.
	Waiting(graphs int)
	// HistoryRewritten records that the history of the cluster was rewritten.
	HistoryRewritten()
	// PolicyViolations records findings of policies in a new version of a graph.
	PolicyViolations(severity string, count int)
	// Conditions records the conditions in the status of a graph.
	Conditions(ns, graph string, conditions []metav1.Condition)
	// ReconcileFailed records why a graph as a whole can't be executed.
	ReconcileFailed(ns, graph, reason string)
	// Forget drops everything about a graph that doesn't exist any more.
	Forget(ns, graph string)
}

// noMetrics is a Recorder that counts nothing.
type noMetrics struct{}

func (noMetrics) Declare(*v1alpha1.ResourceGraph)                                 {}
func (noMetrics) Managed(_, _ string, _ []inventory.Entry)                        {}
func (noMetrics) NodeApplied(_, _, _ string, _ engine.Operation, _ time.Duration) {}
func (noMetrics) NodeApplyFailed(_, _, _, _ string)                               {}
func (noMetrics) NodeReady(_, _, _ string, _ time.Duration)                       {}
func (noMetrics) ReadinessTimeout(_, _, _ string)                                 {}
func (noMetrics) Executed(_, _, _ string, _ time.Duration, _, _ int)              {}
func (noMetrics) AdoptionDone(_, _, _ string, _ error)                            {}
func (noMetrics) Drift(_, _, _ string)                                            {}
func (noMetrics) Reconciled(_, _, _ string, _ time.Duration)                      {}
func (noMetrics) Waiting(int)                                                     {}
func (noMetrics) PolicyViolations(string, int)                                    {}
func (noMetrics) Conditions(_, _ string, _ []metav1.Condition)                    {}
func (noMetrics) HistoryRewritten()                                               {}
func (noMetrics) ReconcileFailed(_, _, _ string)                                  {}
func (noMetrics) Forget(_, _ string)                                              {}
