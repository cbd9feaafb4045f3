package metrics

import (
	"time"

	"github.com/pequod-io/pequod/applier/engine"
)

// NodeApplied says that a node's object was written, and what that did. A node
// that was found as it is wanted took no time, and counts as no apply; nor does
// what was only read, or removed.
func (m *Metrics) NodeApplied(ns, graph, node string, op engine.Operation, took time.Duration) {
	switch op {
	case engine.Created, engine.Configured, engine.Adopted, engine.Recreated, engine.Corrected:
	case engine.Unchanged:
		if took == 0 {
			return
		}
	default:
		return
	}
	g := graphKey{ns, graph}
	m.mu.Lock()
	defer m.mu.Unlock()
	mode, gvk := m.labels(g, node)
	m.applies.WithLabelValues(resultSuccess, mode, gvk).Inc()
	m.applyDuration.WithLabelValues(mode, gvk).Observe(took.Seconds())
	s := m.graph(g)
	if s.applied == nil {
		s.applied = map[string]time.Time{}
	}
	s.applied[node] = m.now()
	if op == engine.Adopted {
		m.adoptionDuration.Observe(took.Seconds())
	}
}

// NodeApplyFailed says that a node's object couldn't be written.
func (m *Metrics) NodeApplyFailed(ns, graph, node, reason string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	mode, gvk := m.labels(graphKey{ns, graph}, node)
	m.applies.WithLabelValues(resultFailure, mode, gvk).Inc()
	m.reconcileErrors.WithLabelValues(controllerName, reason).Inc()
}

// labels are the mode and the kind of a node.
func (m *Metrics) labels(g graphKey, node string) (mode, gvk string) {
	n := undeclared
	if declared := m.graph(g).nodes[node]; declared != nil {
		n = *declared
	}
	return n.mode, m.kinds.take(g, n.gvk)
}

// NodeReady says that a node is ready, after it waited since its apply.
func (m *Metrics) NodeReady(ns, graph, node string, waited time.Duration) {
	g := graphKey{ns, graph}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.graph(g)
	if delete(s.applied, node); len(s.applied) == 0 {
		s.applied = nil
	}
	m.nodeDuration.WithLabelValues(m.nodeIDs.take(g, node), resultSuccess).Observe(waited.Seconds())
}

// ReadinessTimeout says that a node wasn't ready in its time.
func (m *Metrics) ReadinessTimeout(ns, graph, node string) {
	g := graphKey{ns, graph}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reconcileErrors.WithLabelValues(controllerName, engine.ReasonReadinessTimeout).Inc()
	// Another process may have applied it; then nobody here knows when.
	if applied, known := m.graph(g).applied[node]; known {
		m.nodeDuration.WithLabelValues(m.nodeIDs.take(g, node), resultTimeout).Observe(m.now().Sub(applied).Seconds())
	}
}

// Executed says that the execution of a graph ended in a phase. The number of
// waves is not among the metrics.
func (m *Metrics) Executed(ns, graph, phase string, took time.Duration, nodes, _ int) {
	g := graphKey{ns, graph}
	result := resultFailure
	if phase == string(engine.Completed) {
		result = resultSuccess
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.graph(g)
	m.dagNodes.WithLabelValues(g.label()).Set(float64(nodes))
	m.dagDuration.WithLabelValues(g.label(), result).Observe(took.Seconds())
}

// AdoptionDone says that an object was adopted, or why it couldn't be. How long
// it took is told by NodeApplied.
func (m *Metrics) AdoptionDone(_, _, _ string, err error) {
	result := resultSuccess
	if err != nil {
		result = resultFailure
	}
	m.adoptions.WithLabelValues(result).Inc()
}

// Drift says that somebody else changed an object of a graph.
func (m *Metrics) Drift(ns, graph, _ string) {
	g := graphKey{ns, graph}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.graph(g)
	m.drift.WithLabelValues(g.label()).Inc()
}

// Reconciled says that a reconciliation ended, with "success", "error" or
// another word for how.
func (m *Metrics) Reconciled(_, _, result string, took time.Duration) {
	m.reconciles.WithLabelValues(controllerName, result).Inc()
	m.reconcileDuration.WithLabelValues(controllerName).Observe(took.Seconds())
}

// ReconcileFailed says why a reconciliation as a whole failed: the reason is one
// word in CamelCase. Failures of nodes are counted where they are told.
func (m *Metrics) ReconcileFailed(_, _, reason string) {
	m.reconcileErrors.WithLabelValues(controllerName, reason).Inc()
}
