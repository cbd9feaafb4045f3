package metrics

import "github.com/prometheus/client_golang/prometheus"

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
