package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// waitBuckets are the upper bounds of the buckets of executions and nodes, in seconds.
// They wait for workloads to become ready.
var waitBuckets = [...]float64{.05, .1, .5, 1, 5, 10, 30, 60, 120, 300, 600, 1800}

// waits is a histogram of waitBuckets with two labels. It is for thousands of series with
// few observations each: one takes 150 bytes, a tenth of one of a
// [prometheus.HistogramVec]. It is safe for concurrent use.
type waits struct {
	desc   *prometheus.Desc
	labels [2]string // in the order of the alphabet

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
	return &waits{desc: prometheus.NewDesc(prefix+name, help, labels[:], nil), labels: labels, series: map[[2]string]*wait{}}
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
		all = append(all, &waited{w, labels, *s})
	}
	return all
}

// waited is the state of a series. It implements [prometheus.Metric] with less garbage than
// [prometheus.NewConstHistogram].
type waited struct {
	of     *waits
	values [2]string // of the labels
	wait
}

// Desc implements [prometheus.Metric].
func (w *waited) Desc() *prometheus.Desc { return w.of.desc }

// Write implements [prometheus.Metric].
func (w *waited) Write(to *dto.Metric) error {
	for i, value := range w.values {
		to.Label = append(to.Label, &dto.LabelPair{Name: &w.of.labels[i], Value: &value})
	}
	buckets, count := make([]*dto.Bucket, len(waitBuckets)), uint64(0)
	for i := range waitBuckets {
		count += uint64(w.counts[i])
		buckets[i] = &dto.Bucket{CumulativeCount: new(count), UpperBound: &waitBuckets[i]}
	}
	count += uint64(w.counts[len(waitBuckets)])
	to.Histogram = &dto.Histogram{SampleCount: &count, SampleSum: &w.seconds, Bucket: buckets}
	return nil
}
