package metrics

import (
	"time"

	"github.com/pequod-io/pequod/applier/engine"
)

// NodeApplied records that a node's object was applied. Operations without an
// apply request aren't counted: reads, removals, and objects that were found
// unchanged, for which took is 0.
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
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.graph(graphKey{ns, graph})
	mode, gvk := m.labels(s, node)
	m.applies.WithLabelValues(resultSuccess, mode, gvk).Inc()
	m.applyDuration.WithLabelValues(mode, gvk).Observe(took.Seconds())
	if s.applied == nil {
		s.applied = map[string]time.Time{}
	}
	// ReadinessTimeout measures from here.
	s.applied[node] = m.now()
	if op == engine.Adopted {
		m.adoptionDuration.Observe(took.Seconds())
	}
}

// NodeApplyFailed records a failed attempt to apply a node's object.
func (m *Metrics) NodeApplyFailed(ns, graph, node, reason string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	mode, gvk := m.labels(m.graph(graphKey{ns, graph}), node)
	m.applies.WithLabelValues(resultFailure, mode, gvk).Inc()
	m.reconcileErrors.WithLabelValues(controllerName, reason).Inc()
}

// labels returns the values of the labels mode and gvk for a node. Nodes that
// Declare has not seen, such as objects that left the graph, are undeclared. The
// caller holds m.mu.
func (m *Metrics) labels(s *graphState, node string) (mode, gvk string) {
	n := s.labels(node)
	return n.mode, m.kinds.take(&s.kinds, n.gvk)
}

// NodeReady records that a node is ready, and the time since its apply.
func (m *Metrics) NodeReady(ns, graph, node string, waited time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.graph(graphKey{ns, graph})
	if delete(s.applied, node); len(s.applied) == 0 {
		s.applied = nil
	}
	m.nodeDuration.observe(waited.Seconds(), [2]string{m.nodeIDs.take(&s.nodeIDs, node), resultSuccess})
}

// ReadinessTimeout records that a node wasn't ready within its timeout, and the
// time since its apply.
func (m *Metrics) ReadinessTimeout(ns, graph, node string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.graph(graphKey{ns, graph})
	m.reconcileErrors.WithLabelValues(controllerName, engine.ReasonReadinessTimeout).Inc()
	// If another process applied the node, the time of the apply isn't known.
	if applied, known := s.applied[node]; known {
		m.nodeDuration.observe(m.now().Sub(applied).Seconds(), [2]string{m.nodeIDs.take(&s.nodeIDs, node), resultTimeout})
	}
}

// Executed records the end of an execution in a phase, Completed or Failed, with
// its duration and the number of nodes. The number of waves isn't exported.
func (m *Metrics) Executed(ns, graph, phase string, took time.Duration, nodes, _ int) {
	g := graphKey{ns, graph}
	result := resultFailure
	if phase == string(engine.Completed) {
		result = resultSuccess
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.graph(g)
	s.executed = nodes
	m.dagDuration.observe(took.Seconds(), [2]string{m.executions.take(&s.executions, g.label()), result})
}

// AdoptionDone records that an object was adopted, or the error if it wasn't.
// NodeApplied records the duration.
func (m *Metrics) AdoptionDone(_, _, _ string, err error) {
	result := resultSuccess
	if err != nil {
		result = resultFailure
	}
	m.adoptions.WithLabelValues(result).Inc()
}

// Drift records that an object of a graph was changed by others.
func (m *Metrics) Drift(ns, graph, _ string) {
	g := graphKey{ns, graph}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drift.WithLabelValues(m.drifts.take(&m.graph(g).drifts, g.label())).Inc()
}

// PolicyViolations records findings of policies in a new version of a graph.
func (m *Metrics) PolicyViolations(severity string, count int) {
	m.process.violations.WithLabelValues(severity).Add(float64(count))
}

// Waiting records the number of graphs that wait for a step.
func (m *Metrics) Waiting(graphs int) { m.process.waiting.Set(float64(graphs)) }

// HistoryRewritten records that the history of the cluster was rewritten.
func (m *Metrics) HistoryRewritten() { m.process.rewrites.Inc() }

// Reconciled records a reconciliation. Result is "success", "error", or another
// value of the label result.
func (m *Metrics) Reconciled(_, _, result string, took time.Duration) {
	m.reconciles.WithLabelValues(controllerName, result).Inc()
	m.reconcileDuration.WithLabelValues(controllerName).Observe(took.Seconds())
}

// ReconcileFailed records the failure of a graph as a whole. The reason is one
// word in CamelCase. Failures of nodes are recorded by NodeApplyFailed and
// ReadinessTimeout.
func (m *Metrics) ReconcileFailed(_, _, reason string) {
	m.reconcileErrors.WithLabelValues(controllerName, reason).Inc()
}
