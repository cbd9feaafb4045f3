package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

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
