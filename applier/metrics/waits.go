package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// waitBuckets are the upper bounds of the buckets of executions and nodes, in seconds.
// They wait for workloads to become ready.
var waitBuckets = [...]float64{.05, .1, .5, 1, 5, 10, 30, 60, 120, 300, 600, 1800}

// waits is a histogram of waitBuckets with two labels. It is for thousands of series with
// few observations each: one takes 150 bytes, a tenth of one of a
// [prometheus.HistogramVec]. It is safe for concurrent use.
type waits struct {
	desc *prometheus.Desc

	mu     sync.Mutex
	series map[[2]string]*wait // by the values of the labels
}

// wait is one series.
type wait struct {
	// counts are the numbers of observations in each bucket alone; the last are those
	// above all bounds.
	counts  [len(waitBuckets) + 1]uint32
	seconds float64 // sum of the observations
}

// newWaits returns a histogram with the prefix, not yet registered.
func newWaits(name, help string, labels [2]string) *waits {
	return &waits{desc: prometheus.NewDesc(prefix+name, help, labels[:], nil), series: map[[2]string]*wait{}}
}

// observe adds an observation to the series with these values of the labels.
func (w *waits) observe(seconds float64, labels [2]string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.series[labels]
	if s == nil {
		s = &wait{}
		w.series[labels] = s
	}
	i := 0
	for i < len(waitBuckets) && seconds > waitBuckets[i] {
		i++
	}
	s.counts[i]++
	s.seconds += seconds
}

// remove removes a series.
func (w *waits) remove(labels [2]string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.series, labels)
}

// Describe implements [prometheus.Collector].
func (w *waits) Describe(to chan<- *prometheus.Desc) { to <- w.desc }

// Collect implements [prometheus.Collector].
func (w *waits) Collect(to chan<- prometheus.Metric) {
	for _, metric := range w.metrics() {
		to <- metric
	}
}

// metrics returns all series.
func (w *waits) metrics() []prometheus.Metric {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make([]prometheus.Metric, 0, len(w.series))
	for labels, s := range w.series {
		buckets, count := make(map[float64]uint64, len(waitBuckets)), uint64(0)
		for i, bound := range waitBuckets {
			count += uint64(s.counts[i])
			buckets[bound] = count
		}
		count += uint64(s.counts[len(waitBuckets)])
		metric, err := prometheus.NewConstHistogram(w.desc, count, s.seconds, buckets, labels[:]...)
		if err != nil {
			metric = prometheus.NewInvalidMetric(w.desc, err)
		}
		all = append(all, metric)
	}
	return all
}
