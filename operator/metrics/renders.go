package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// renderBuckets are in seconds. An instance of a usual module takes some milliseconds, and the
// first one of a process some tenths of a second more. No evaluation takes much longer than its
// limit.
var renderBuckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}

// Renders are the metrics of the processes that evaluate modules. It implements the interface
// Metrics of package worker, and is safe for concurrent use. The series of a platform are
// removed with it.
type Renders struct {
	duration  *prometheus.HistogramVec
	errors    *prometheus.CounterVec
	failures  *prometheus.CounterVec
	processes prometheus.Gauge
}

// NewRenders registers the metrics with reg.
func NewRenders(reg prometheus.Registerer) *Renders {
	r := &Renders{
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: prefix + "cue_render_duration_seconds", Help: "Duration of rendering an instance, without the wait for its turn.",
			Buckets: renderBuckets,
		}, []string{"platform"}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "cue_render_errors_total", Help: "Instances that could not be rendered, by the cause.",
		}, []string{"platform", "error_type"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "cue_process_failures_total", Help: "Processes that ended by a failure and are started again, by the cause.",
		}, []string{"platform", "error_type"}),
		processes: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: prefix + "cue_processes", Help: "Processes that evaluate modules.",
		}),
	}
	reg.MustRegister(r.duration, r.errors, r.failures, r.processes)
	return r
}

// Rendered counts a rendering. errorType is "" if the instance has a graph.
func (r *Renders) Rendered(platform string, took time.Duration, errorType string) {
	r.duration.WithLabelValues(platform).Observe(took.Seconds())
	if errorType != "" {
		r.errors.WithLabelValues(platform, errorType).Inc()
	}
}

// Processes sets the number of processes.
func (r *Renders) Processes(n int) { r.processes.Set(float64(n)) }

// Failed counts a process that has ended by a failure.
func (r *Renders) Failed(platform, errorType string) {
	r.failures.WithLabelValues(platform, errorType).Inc()
}

// Forgotten removes the series of a platform.
func (r *Renders) Forgotten(platform string) {
	of := prometheus.Labels{"platform": platform}
	r.duration.DeletePartialMatch(of)
	r.errors.DeletePartialMatch(of)
	r.failures.DeletePartialMatch(of)
}
