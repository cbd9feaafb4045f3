package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// controllerName is the label controller of everything that is reconciled here.
const controllerName = "resourcegraph"

// Values of the label result.
const (
	resultSuccess = "success"
	resultFailure = "failure"
	resultTimeout = "timeout"
	// resultError is that of a reconciliation.
	resultError = "error"
)

// Metrics is what the applier counts. Any number of goroutines may use it.
type Metrics struct {
	reconciles        *prometheus.CounterVec
	reconcileDuration *prometheus.HistogramVec
	reconcileErrors   *prometheus.CounterVec
	dagNodes          *prometheus.GaugeVec
	dagDuration       *prometheus.HistogramVec
	nodeDuration      *prometheus.HistogramVec
	applies           *prometheus.CounterVec
	applyDuration     *prometheus.HistogramVec
	managed           *prometheus.GaugeVec
	adoptions         *prometheus.CounterVec
	adoptionDuration  prometheus.Histogram
	drift             *prometheus.CounterVec

	now func() time.Time

	mu      sync.Mutex
	graphs  map[graphKey]*graphState
	nodeIDs *capped
	kinds   *capped
	states  map[nodeState]*nodeState
	objects map[place]int // by all graphs
}

// Buckets in seconds: of one request, of one reconciliation, and of what waits
// for workloads.
var (
	requestBuckets   = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}
	reconcileBuckets = []float64{.001, .005, .01, .05, .1, .5, 1, 5, 10, 30, 60, 120}
	waitBuckets      = []float64{.05, .1, .5, 1, 5, 10, 30, 60, 120, 300, 600, 1800}
)

// New registers the metrics with reg.
func New(reg prometheus.Registerer) *Metrics {
	m := &Metrics{
		now:     time.Now,
		graphs:  map[graphKey]*graphState{},
		nodeIDs: newCapped(nodeIDsPerGraph, nodeIDsInAll),
		kinds:   newCapped(kindsPerGraph, kindsInAll),
		states:  map[nodeState]*nodeState{},
		objects: map[place]int{},

		reconciles: counters("reconcile_total",
			"Reconciliations, by how they ended.", "controller", "result"),
		reconcileDuration: histograms("reconcile_duration_seconds",
			"How long one reconciliation took.", reconcileBuckets, "controller"),
		reconcileErrors: counters("reconcile_errors_total",
			"What failed in reconciliations, by reason.", "controller", "error_type"),
		dagNodes: gauges("dag_nodes_total",
			"Nodes of a graph as it was executed last.", "resourcegraph"),
		dagDuration: histograms("dag_execution_duration_seconds",
			"How long the execution of a graph took, readiness included.", waitBuckets, "resourcegraph", "result"),
		nodeDuration: histograms("dag_node_execution_duration_seconds",
			"How long a node took from its apply until it was ready, or its time was over.", waitBuckets, "node_id", "result"),
		applies: counters("apply_total",
			"Objects applied, or refused.", "result", "mode", "gvk"),
		applyDuration: histograms("apply_duration_seconds",
			"How long the requests took that applied one object.", requestBuckets, "mode", "gvk"),
		managed: gauges("resources_managed",
			"Objects in the inventories of all graphs.", "gvk", "namespace"),
		adoptions: counters("adoption_total",
			"Objects that were there before their graph and were taken over, or couldn't be.", "result"),
		adoptionDuration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: prefix + "adoption_duration_seconds", Help: "How long the requests took that took over one object.",
			Buckets: requestBuckets,
		}),
		drift: counters("drift_total",
			"Changes by others to objects of a graph that were seen.", "resourcegraph"),
	}
	reg.MustRegister(m.reconciles, m.reconcileDuration, m.reconcileErrors, m.dagNodes, m.dagDuration, m.nodeDuration,
		m.applies, m.applyDuration, m.managed, m.adoptions, m.adoptionDuration, m.drift)
	// A rate over a counter that appears with its first error misses that error.
	for _, result := range []string{resultSuccess, resultError} {
		m.reconciles.WithLabelValues(controllerName, result)
	}
	for _, result := range []string{resultSuccess, resultFailure} {
		m.adoptions.WithLabelValues(result)
	}
	return m
}

const prefix = "pequod_"

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + name, Help: help}, labels)
}

func gauges(name, help string, labels ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: prefix + name, Help: help}, labels)
}

func histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: prefix + name, Help: help, Buckets: buckets}, labels)
}
