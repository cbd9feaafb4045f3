package metrics

import "github.com/prometheus/client_golang/prometheus"

// Exports counts the messages that are sent to servers outside of the cluster: events and traces.
// It is safe for concurrent use.
type Exports struct {
	sent, failed, dropped *prometheus.CounterVec
	waiting               *prometheus.GaugeVec
}

// NewExports registers the metrics with reg. It panics if they are registered already.
func NewExports(reg prometheus.Registerer) *Exports {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, append([]string{"export"}, labels...))
		reg.MustRegister(c)
		return c
	}
	e := &Exports{
		sent:    counter("pequod_exports_sent_total", "Notifications and traces that a server has accepted."),
		failed:  counter("pequod_exports_failures_total", "Attempts to send a notification or a trace that failed and are repeated."),
		dropped: counter("pequod_exports_dropped_total", "Notifications and traces that are lost: the queue was full, they were too old, or the server refused them.", "reason"),
		waiting: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "pequod_exports_waiting", Help: "Notifications and traces that wait to be sent."}, []string{"export"}),
	}
	reg.MustRegister(e.waiting)
	return e
}

// Of returns the recorder of an export: events or traces. Its series begin at 0.
func (e *Exports) Of(export string) Export {
	e.sent.WithLabelValues(export)
	e.failed.WithLabelValues(export)
	for _, reason := range []string{"full", "expired", "refused"} {
		e.dropped.WithLabelValues(export, reason)
	}
	e.waiting.WithLabelValues(export)
	return Export{e, export}
}

// Export counts the messages of one export.
type Export struct {
	all  *Exports
	name string
}

// Sent records a message that the server has accepted.
func (e Export) Sent() { e.all.sent.WithLabelValues(e.name).Inc() }

// Failed records an attempt that will be repeated.
func (e Export) Failed() { e.all.failed.WithLabelValues(e.name).Inc() }

// Dropped records a message that is lost.
func (e Export) Dropped(reason string) { e.all.dropped.WithLabelValues(e.name, reason).Inc() }

// Waiting records how many messages are queued.
func (e Export) Waiting(messages int) { e.all.waiting.WithLabelValues(e.name).Set(float64(messages)) }
