// Package metrics has the metrics of pequod-actions.
package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// runBuckets are the upper bounds of the durations of runs in seconds.
var runBuckets = []float64{.1, .5, 1, 5, 15, 60, 300, 900, 3600, 14400}

// Actions counts what happens to Actions. It is safe for concurrent use.
type Actions struct {
	reconciles *prometheus.CounterVec
	runs       *prometheus.CounterVec
	durations  *prometheus.HistogramVec
}

// New registers the metrics with reg. It panics if they are registered already.
func New(reg prometheus.Registerer) *Actions {
	a := &Actions{
		reconciles: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pequod_action_reconcile_total", Help: "Reconciliations of Actions by result.",
		}, []string{"result"}),
		runs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pequod_actions_executed_total", Help: "Ended runs of Actions by executor, purpose and result, and reactions of Monitors with the purpose Reaction.",
		}, []string{"type", "purpose", "result"}),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "pequod_action_duration_seconds", Help: "Time from the record of a run to its end, and of reactions.", Buckets: runBuckets,
		}, []string{"type"}),
	}
	reg.MustRegister(a.reconciles, a.runs, a.durations)
	for _, result := range []string{"success", "error"} {
		a.reconciles.WithLabelValues(result) // begins at 0
	}
	return a
}

// Reconciled records a reconciliation: "success", or "error" if a request failed.
func (a *Actions) Reconciled(result string, _ time.Duration) {
	a.reconciles.WithLabelValues(result).Inc()
}

// RunEnded records the end of a run.
func (a *Actions) RunEnded(executor string, purpose v1alpha1.RunPurpose, result v1alpha1.RunState, took time.Duration) {
	a.runs.WithLabelValues(executor, string(purpose), string(result)).Inc()
	a.durations.WithLabelValues(executor).Observe(took.Seconds())
}
