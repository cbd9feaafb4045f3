package metrics

import "time"

// Controller counts the reconciliations of another controller of the process, in the same
// series as those of graphs.
type Controller struct {
	metrics *Metrics
	name    string // the value of the label controller
}

// Controller returns the counts of a controller, which begin at 0.
func (m *Metrics) Controller(name string) Controller {
	for _, result := range []string{resultSuccess, resultError} {
		m.reconciles.WithLabelValues(name, result)
	}
	return Controller{m, name}
}

// Reconciled counts a reconciliation: "success" or "error".
func (c Controller) Reconciled(result string, took time.Duration) {
	c.metrics.reconciles.WithLabelValues(c.name, result).Inc()
	c.metrics.reconcileDuration.WithLabelValues(c.name).Observe(took.Seconds())
}

// ReconcileFailed counts a failure by its reason.
func (c Controller) ReconcileFailed(reason string) {
	c.metrics.reconcileErrors.WithLabelValues(c.name, reason).Inc()
}
