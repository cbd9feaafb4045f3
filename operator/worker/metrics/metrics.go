// Package metrics has the Prometheus metrics of the processes of package worker. Package
// applier/metrics has those of graphs.
package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics implements [worker.Metrics].
//
// [worker.Metrics]: https://pkg.go.dev/github.com/pequod-io/pequod/operator/worker#Metrics
type Metrics struct {
	duration  *prometheus.HistogramVec
	errors    *prometheus.CounterVec
	processes prometheus.Gauge
	failures  *prometheus.CounterVec
}

// buckets are in seconds. An instance of a usual module takes some milliseconds, and the first
// one of a process some tenths of a second more. No evaluation takes much longer than its limit.
var buckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}

// New registers the metrics with reg. It panics if they are registered already.
func New(reg prometheus.Registerer) *Metrics {
	m := &Metrics{
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "pequod_cue_render_duration_seconds", Buckets: buckets,
			Help: "Duration of rendering an instance, without the wait for its turn.",
		}, []string{"platform"}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pequod_cue_render_errors_total", Help: "Instances that could not be rendered, by the cause.",
		}, []string{"platform", "error_type"}),
		processes: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "pequod_cue_processes", Help: "Processes that evaluate modules.",
		}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pequod_cue_process_failures_total", Help: "Processes that ended by a failure and are started again, by the cause.",
		}, []string{"platform", "error_type"}),
	}
	reg.MustRegister(m.duration, m.errors, m.processes, m.failures)
	return m
}

// Rendered counts a rendering.
func (m *Metrics) Rendered(platform string, took time.Duration, errorType string) {
	m.duration.WithLabelValues(platform).Observe(took.Seconds())
	if errorType != "" {
		m.errors.WithLabelValues(platform, errorType).Inc()
	}
}

// Processes sets the number of processes.
func (m *Metrics) Processes(n int) { m.processes.Set(float64(n)) }

// Failed counts a process that has failed.
func (m *Metrics) Failed(platform, errorType string) {
	m.failures.WithLabelValues(platform, errorType).Inc()
}

// Forgotten deletes the series of a platform.
func (m *Metrics) Forgotten(platform string) {
	of := prometheus.Labels{"platform": platform}
	m.duration.DeletePartialMatch(of)
	m.errors.DeletePartialMatch(of)
	m.failures.DeletePartialMatch(of)
}
