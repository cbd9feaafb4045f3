package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// pollBuckets are the upper bounds of the durations of polls in seconds.
var pollBuckets = []float64{.005, .025, .1, .25, .5, 1, 2.5, 5, 10, 30}

// reaction is the purpose of reactions.
const reaction = "Reaction"

// Monitors counts what happens to Monitors. It is safe for concurrent use.
type Monitors struct {
	actions *Actions

	polls     *prometheus.CounterVec
	durations prometheus.Histogram
	events    *prometheus.CounterVec
	errors    *prometheus.CounterVec
	active    prometheus.Gauge
}

// NewMonitors registers the metrics with reg. Reactions count as executed actions. It panics if
// they are registered already.
func NewMonitors(reg prometheus.Registerer, actions *Actions) *Monitors {
	m := &Monitors{
		actions: actions,
		polls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pequod_monitor_polls_total", Help: "Polls of targets of Monitors by result.",
		}, []string{"result"}),
		durations: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "pequod_monitor_poll_duration_seconds", Help: "Time in which all targets of a Monitor are polled.", Buckets: pollBuckets,
		}),
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pequod_events_generated_total", Help: "Events about Monitors and their Pods by reason.",
		}, []string{"reason"}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pequod_monitor_errors_total", Help: "Errors of Monitors by category: targets, poll, rule, reaction or status.",
		}, []string{"category"}),
		active: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "pequod_monitors_active", Help: "Monitors that are polled.",
		}),
	}
	reg.MustRegister(m.polls, m.durations, m.events, m.errors, m.active)
	for _, result := range []string{"success", "failure"} {
		m.polls.WithLabelValues(result) // begins at 0
	}
	return m
}

// Polled records a poll of a target: "success" or "failure".
func (m *Monitors) Polled(result string) { m.polls.WithLabelValues(result).Inc() }

// Read records a reading, which has polled all targets of a Monitor.
func (m *Monitors) Read(took time.Duration) { m.durations.Observe(took.Seconds()) }

// Reacted records the end of a reaction.
func (m *Monitors) Reacted(kind string, result v1alpha1.RunState, took time.Duration) {
	m.actions.runs.WithLabelValues(kind, reaction, string(result)).Inc()
	m.actions.durations.WithLabelValues(kind).Observe(took.Seconds())
}

// Emitted records an Event.
func (m *Monitors) Emitted(reason string) { m.events.WithLabelValues(reason).Inc() }

// Erred records an error by its category.
func (m *Monitors) Erred(category string) { m.errors.WithLabelValues(category).Inc() }

// Active records the number of Monitors.
func (m *Monitors) Active(count int) { m.active.Set(float64(count)) }
