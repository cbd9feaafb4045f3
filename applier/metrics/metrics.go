package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// controllerName is the value of the label controller for graphs. Other controllers of the
// process have names of their own; see [Metrics.Controller].
const controllerName = "resourcegraph"

// Values of the label result.
const (
	resultSuccess = "success"
	resultFailure = "failure" // of executions, applies and adoptions
	resultTimeout = "timeout" // of nodes that weren't ready in time
	resultError   = "error"   // of reconciliations, as controller-runtime calls it
)

// Metrics holds the metrics of the applier. It is safe for concurrent use. The
// fields up to process are the registered metrics, which synchronize themselves;
// New has their names and help.
type Metrics struct {
	reconciles        *prometheus.CounterVec
	reconcileDuration *prometheus.HistogramVec
	reconcileErrors   *prometheus.CounterVec
	dagDuration       *waits
	nodeDuration      *waits
	applies           *prometheus.CounterVec
	applyDuration     *prometheus.HistogramVec
	managed           *prometheus.GaugeVec
	adoptions         *prometheus.CounterVec
	adoptionDuration  prometheus.Histogram
	drift             *prometheus.CounterVec
	process           processMetrics

	// now is time.Now, except in tests.
	now func() time.Time

	// mu guards the fields below it. Methods also hold it while they set the
	// series of a graph.
	mu     sync.Mutex
	graphs map[graphKey]*graphState
	// nodeIDs and kinds bound the values of the labels node_id and gvk. executions and
	// drifts bound those of resourcegraph, each for one metric: few graphs drift, so
	// these have their names although many others were executed.
	nodeIDs    *capped
	kinds      *capped
	executions *capped
	drifts     *capped
	objects    map[managedSeries]int // number of objects of all graphs
}

// processMetrics are metrics of the applier as a whole.
type processMetrics struct {
	violations *prometheus.CounterVec
	conditions conditionGauge
	waiting    prometheus.Gauge
	rewrites   prometheus.Counter
}

// Buckets in seconds: of one request and of one reconciliation. See also waitBuckets.
var (
	requestBuckets   = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}
	reconcileBuckets = []float64{.001, .005, .01, .05, .1, .5, 1, 5, 10, 30, 60, 120}
)

// New registers the metrics with reg. It panics if they are registered already.
func New(reg prometheus.Registerer) *Metrics {
	m := &Metrics{
		now:        time.Now,
		graphs:     map[graphKey]*graphState{},
		nodeIDs:    newCapped(nodeIDsPerGraph, nodeIDsInAll),
		kinds:      newCapped(kindsPerGraph, kindsInAll),
		executions: newCapped(1, graphsInAll),
		drifts:     newCapped(1, graphsInAll),
		objects:    map[managedSeries]int{},

		reconciles: counters("reconcile_total",
			"Reconciliations by result.", "controller", "result"),
		reconcileDuration: histograms("reconcile_duration_seconds",
			"Duration of a reconciliation.", reconcileBuckets, "controller"),
		reconcileErrors: counters("reconcile_errors_total",
			"Failures during reconciliations by reason.", "controller", "error_type"),
		dagDuration: newWaits("dag_execution_duration_seconds",
			"Duration of the execution of a graph, including the wait for readiness.", [2]string{"resourcegraph", "result"}),
		nodeDuration: newWaits("dag_node_execution_duration_seconds",
			"Time from the apply of a node until it was ready or timed out.", [2]string{"node_id", "result"}),
		applies: counters("apply_total",
			"Applies of objects by result.", "result", "mode", "gvk"),
		applyDuration: histograms("apply_duration_seconds",
			"Duration of the requests that apply one object.", requestBuckets, "mode", "gvk"),
		managed: gauges("resources_managed",
			"Objects in the inventories of all graphs.", "gvk", "namespace"),
		adoptions: counters("adoption_total",
			"Adoptions of existing objects by result.", "result"),
		adoptionDuration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: prefix + "adoption_duration_seconds", Help: "Duration of the requests that adopt one object.",
			Buckets: requestBuckets,
		}),
		drift: counters("drift_total",
			"Observed changes of a graph's objects by others.", "resourcegraph"),
		process: processMetrics{
			violations: counters("policy_violations_total",
				"Findings of policies in graphs and in refused instances, by severity.", "severity"),
			conditions: conditionGauge{graphs: map[conditionSeries]int{}, vec: gauges("graphs",
				"Graphs by the conditions in their status.", "namespace", "condition", "status")},
			waiting: prometheus.NewGauge(prometheus.GaugeOpts{
				Name: prefix + "graphs_waiting", Help: "Graphs that wait for a reconciliation step.",
			}),
			rewrites: prometheus.NewCounter(prometheus.CounterOpts{
				Name: prefix + "history_rewrites_total", Help: "Rewrites of the cluster's history, as by restoring etcd.",
			}),
		},
	}
	reg.MustRegister(m.reconciles, m.reconcileDuration, m.reconcileErrors, dagNodes{m}, m.dagDuration, m.nodeDuration,
		m.applies, m.applyDuration, m.managed, m.adoptions, m.adoptionDuration, m.drift, m.process.waiting, m.process.rewrites,
		m.process.violations, m.process.conditions.vec)
	// Counters without user-chosen labels start at 0: a rate over a counter that
	// appears with its first error would miss that error.
	for _, result := range []string{resultSuccess, resultError} {
		m.reconciles.WithLabelValues(controllerName, result)
	}
	for _, result := range []string{resultSuccess, resultFailure} {
		m.adoptions.WithLabelValues(result)
	}
	for _, severity := range []v1alpha1.Severity{v1alpha1.SeverityError, v1alpha1.SeverityWarning, v1alpha1.SeverityInfo} {
		m.process.violations.WithLabelValues(string(severity))
	}
	return m
}

// prefix begins the names of all metrics.
const prefix = "pequod_"

// counters returns counters with the prefix, not yet registered.
func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + name, Help: help}, labels)
}

// gauges returns gauges in the same way.
func gauges(name, help string, labels ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: prefix + name, Help: help}, labels)
}

// histograms returns histograms in the same way. The buckets are upper bounds in
// seconds.
func histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: prefix + name, Help: help, Buckets: buckets}, labels)
}
