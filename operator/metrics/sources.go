// Package metrics has the metrics of the manager that the applier lacks. docs/operations.md
// lists them.
package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/modules/cache"
)

// prefix begins the names of all metrics of Pequod.
const prefix = "pequod_"

// Values of the label result.
const (
	resultSuccess = "success"
	resultFailure = "failure"
)

// fetchBuckets are in seconds: from a module in the cache to a large one on a slow line.
var fetchBuckets = []float64{.005, .01, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120}

// Sources are the metrics of the modules that are fetched. It is safe for concurrent use.
type Sources struct {
	fetches  *prometheus.CounterVec
	duration *prometheus.HistogramVec
}

// NewSources registers the metrics with reg. stats returns the numbers of the cache; it is
// called whenever the metrics are read.
func NewSources(reg prometheus.Registerer, stats func() cache.Stats) *Sources {
	s := &Sources{
		fetches: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "cue_fetch_total", Help: "Modules that were opened or could not be, by source.",
		}, []string{"source", "result"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: prefix + "cue_fetch_duration_seconds", Help: "Duration of opening a module with all that it imports, by source.",
			Buckets: fetchBuckets,
		}, []string{"source"}),
	}
	reg.MustRegister(s.fetches, s.duration, cacheMetrics{stats})
	return s
}

// Fetched counts a module that was opened, or could not be. It has the form of Fetched in
// [github.com/pequod-io/pequod/modules.Options].
func (s *Sources) Fetched(source v1alpha1.CueRefType, took time.Duration, err error) {
	result, other := resultSuccess, resultFailure
	if err != nil {
		result, other = other, result
	}
	s.fetches.WithLabelValues(string(source), other) // begins at 0
	s.fetches.WithLabelValues(string(source), result).Inc()
	s.duration.WithLabelValues(string(source)).Observe(took.Seconds())
}

// cacheMetrics collects the numbers of the cache of modules.
type cacheMetrics struct{ stats func() cache.Stats }

var (
	cacheHits      = prometheus.NewDesc(prefix+"cue_cache_hits_total", "Contents of modules that the cache had.", nil, nil)
	cacheMisses    = prometheus.NewDesc(prefix+"cue_cache_misses_total", "Contents of modules that were downloaded.", nil, nil)
	cacheEvictions = prometheus.NewDesc(prefix+"cue_cache_evictions_total", "Contents that were removed from the cache.", nil, nil)
	cacheEntries   = prometheus.NewDesc(prefix+"cue_cache_entries", "Contents in the cache.", nil, nil)
	cacheSize      = prometheus.NewDesc(prefix+"cue_cache_size_bytes", "Size of the contents in the cache.", nil, nil)
)

// Describe implements prometheus.Collector.
func (cacheMetrics) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{cacheHits, cacheMisses, cacheEvictions, cacheEntries, cacheSize} {
		to <- d
	}
}

// Collect implements prometheus.Collector. It lists the directory of the cache.
func (c cacheMetrics) Collect(to chan<- prometheus.Metric) {
	stats := c.stats()
	for _, m := range []struct {
		desc  *prometheus.Desc
		kind  prometheus.ValueType
		value int64
	}{
		{cacheHits, prometheus.CounterValue, stats.Hits},
		{cacheMisses, prometheus.CounterValue, stats.Misses},
		{cacheEvictions, prometheus.CounterValue, stats.Evictions},
		{cacheEntries, prometheus.GaugeValue, stats.Entries},
		{cacheSize, prometheus.GaugeValue, stats.SizeBytes},
	} {
		to <- prometheus.MustNewConstMetric(m.desc, m.kind, float64(m.value))
	}
}
