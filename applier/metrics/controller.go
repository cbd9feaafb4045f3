package metrics

import "time"

// Controller counts the reconciliations of another controller of the same program, with the
// metrics that the applier's own reconciliations have.
type Controller struct {
	of   *Metrics
	name string
}

// Controller returns the counters of a controller, whose name is the value of the label
// controller.
func (m *Metrics) Controller(name string) *Controller {
	for _, result := range []string{resultSuccess, resultError} {
		m.reconciles.WithLabelValues(name, result) // begins at 0
	}
	return &Controller{m, name}
}

// Reconciled records a reconciliation. Result is "success" or "error".
func (c *Controller) Reconciled(result string, took time.Duration) {
	c.of.reconciles.WithLabelValues(c.name, result).Inc()
	c.of.reconcileDuration.WithLabelValues(c.name).Observe(took.Seconds())
}

// ReconcileFailed records why a reconciliation failed. The reason is one word in CamelCase.
func (c *Controller) ReconcileFailed(reason string) {
	c.of.reconcileErrors.WithLabelValues(c.name, reason).Inc()
}

// PolicyViolations records findings of policies that refuse an object.
func (c *Controller) PolicyViolations(severity string, count int) {
	c.of.PolicyViolations(severity, count)
}
