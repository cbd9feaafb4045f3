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

// deliveryBuckets are the upper bounds of the durations of deliveries in seconds.
var deliveryBuckets = []float64{.005, .02, .1, .5, 1, 5, 30}

// Receivers counts what happens to the messages of Receivers. It is safe for concurrent use.
type Receivers struct {
	deliveries *prometheus.CounterVec
	durations  *prometheus.HistogramVec
	rejected   *prometheus.CounterVec
}

// NewReceivers registers the metrics with reg. It panics if they are registered already.
func NewReceivers(reg prometheus.Registerer) *Receivers {
	r := &Receivers{
		deliveries: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pequod_receiver_deliveries_total", Help: "Messages of Receivers by source and result.",
		}, []string{"source", "result"}),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "pequod_receiver_delivery_duration_seconds", Help: "Time until the effects of a message were stored.", Buckets: deliveryBuckets,
		}, []string{"source"}),
		rejected: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pequod_receiver_rejected_total", Help: "Requests to webhooks that became no message, by reason.",
		}, []string{"reason"}),
	}
	reg.MustRegister(r.deliveries, r.durations, r.rejected)
	return r
}

// Delivered records a message with its result.
func (r *Receivers) Delivered(source, result string, took time.Duration) {
	r.deliveries.WithLabelValues(source, result).Inc()
	r.durations.WithLabelValues(source).Observe(took.Seconds())
}

// Rejected records a request that became no message.
func (r *Receivers) Rejected(reason string) { r.rejected.WithLabelValues(reason).Inc() }

// History counts the rows of the history in PostgreSQL. It is safe for concurrent use.
type History struct {
	stored, missed, failed *prometheus.CounterVec
}

// NewHistory registers the metrics with reg. It panics if they are registered already.
func NewHistory(reg prometheus.Registerer) *History {
	counter := func(name, help string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{"table"})
		reg.MustRegister(c)
		for _, table := range []string{"revisions", "runs", "events"} {
			c.WithLabelValues(table) // begins at 0
		}
		return c
	}
	return &History{
		stored: counter("pequod_history_stored_total", "Rows that were stored in the history in PostgreSQL."),
		missed: counter("pequod_history_missed_total", "Rows that are missing in the history in PostgreSQL: they left the cluster before they were stored."),
		failed: counter("pequod_history_failures_total", "Attempts to store rows in the history in PostgreSQL that failed and are repeated."),
	}
}

// Stored records new rows of a table.
func (h *History) Stored(table string, rows int) { h.stored.WithLabelValues(table).Add(float64(rows)) }

// Missed records rows that are lost.
func (h *History) Missed(table string, rows int) { h.missed.WithLabelValues(table).Add(float64(rows)) }

// Failed records that rows could not be stored yet.
func (h *History) Failed(table string) { h.failed.WithLabelValues(table).Inc() }
