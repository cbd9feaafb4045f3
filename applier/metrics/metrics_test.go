package metrics

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
)

const web = `
metadata: {name: web, namespace: shop}
spec:
  graph:
    nodes:
    - id: config
      resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: web}}
    - id: deployment
      resource: {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}}
      applyPolicy: {mode: Adopt}
    - id: secret
      externalRef: {apiVersion: v1, kind: Secret, name: given}
`

func graphOf(t *testing.T, text string) *v1alpha1.ResourceGraph {
	t.Helper()
	rg := &v1alpha1.ResourceGraph{}
	if err := yaml.UnmarshalStrict([]byte(text), rg); err != nil {
		t.Fatal(err)
	}
	return rg
}

// fresh is what a registry holds before anything happened.
const fresh = `
pequod_adoption_duration_seconds{} 0 in 0
pequod_adoption_total{result=failure} 0
pequod_adoption_total{result=success} 0
pequod_reconcile_total{controller=resourcegraph,result=error} 0
pequod_graphs_waiting{} 0
pequod_history_rewrites_total{} 0
pequod_policy_violations_total{severity=Error} 0
pequod_policy_violations_total{severity=Info} 0
pequod_policy_violations_total{severity=Warning} 0
pequod_reconcile_total{controller=resourcegraph,result=success} 0
`

func TestMetrics(t *testing.T) {
	for _, test := range []struct {
		name string
		tell func(*Metrics)
		// want are the series that fresh doesn't have, or has otherwise.
		want string
	}{
		{"nothing", func(*Metrics) {}, ""},
		{"applied", func(m *Metrics) {
			m.NodeApplied("shop", "web", "config", engine.Created, time.Second)
			m.NodeApplied("shop", "web", "config", engine.Corrected, time.Second)
			m.NodeApplied("shop", "web", "config", engine.Unchanged, time.Second)
		}, `
pequod_apply_duration_seconds{gvk=v1/ConfigMap,mode=Apply} 3 in 3
pequod_apply_total{gvk=v1/ConfigMap,mode=Apply,result=success} 3
`},
		{"adopted", func(m *Metrics) {
			m.NodeApplied("shop", "web", "deployment", engine.Adopted, time.Second)
			m.AdoptionDone("shop", "web", "Explicit", nil)
			m.AdoptionDone("shop", "web", "Explicit", errors.New("taken"))
		}, `
pequod_adoption_duration_seconds{} 1 in 1
pequod_adoption_total{result=failure} 1
pequod_adoption_total{result=success} 1
pequod_apply_duration_seconds{gvk=apps/v1/Deployment,mode=Adopt} 1 in 1
pequod_apply_total{gvk=apps/v1/Deployment,mode=Adopt,result=success} 1
`},
		{"not an apply", func(m *Metrics) {
			m.NodeApplied("shop", "web", "config", engine.Unchanged, 0)
			m.NodeApplied("shop", "web", "secret", engine.Observed, time.Second)
			m.NodeApplied("shop", "web", "", engine.Deleted, time.Second)
		}, ""},
		{"refused", func(m *Metrics) {
			m.NodeApplyFailed("shop", "web", "deployment", engine.ReasonConflict)
		}, `
pequod_apply_total{gvk=apps/v1/Deployment,mode=Adopt,result=failure} 1
pequod_reconcile_errors_total{controller=resourcegraph,error_type=Conflict} 1
`},
		{"undeclared", func(m *Metrics) {
			m.NodeApplyFailed("shop", "else", "x", engine.ReasonForbidden)
		}, `
pequod_apply_total{gvk=unknown,mode=Apply,result=failure} 1
pequod_reconcile_errors_total{controller=resourcegraph,error_type=Forbidden} 1
`},
		{"ready", func(m *Metrics) {
			m.NodeReady("shop", "web", "deployment", 40*time.Second)
		}, `
pequod_dag_node_execution_duration_seconds{node_id=deployment,result=success} 1 in 40
`},
		{"not ready in time", func(m *Metrics) {
			m.NodeApplied("shop", "web", "deployment", engine.Created, time.Second)
			m.now = func() time.Time { return start.Add(90 * time.Second) }
			m.ReadinessTimeout("shop", "web", "deployment")
		}, `
pequod_apply_duration_seconds{gvk=apps/v1/Deployment,mode=Adopt} 1 in 1
pequod_apply_total{gvk=apps/v1/Deployment,mode=Adopt,result=success} 1
pequod_dag_node_execution_duration_seconds{node_id=deployment,result=timeout} 1 in 90
pequod_reconcile_errors_total{controller=resourcegraph,error_type=ReadinessTimeout} 1
`},
		{"not ready, applied by another process", func(m *Metrics) {
			m.ReadinessTimeout("shop", "web", "deployment")
		}, `
pequod_reconcile_errors_total{controller=resourcegraph,error_type=ReadinessTimeout} 1
`},
		{"executed", func(m *Metrics) {
			m.Executed("shop", "web", "Completed", time.Minute, 3, 2)
			m.Executed("shop", "web", "Failed", 2*time.Minute, 4, 2)
			m.Executed("", "web", "Stuck", time.Second, 1, 1)
		}, `
pequod_dag_execution_duration_seconds{resourcegraph=/web,result=failure} 1 in 1
pequod_dag_execution_duration_seconds{resourcegraph=shop/web,result=failure} 1 in 120
pequod_dag_execution_duration_seconds{resourcegraph=shop/web,result=success} 1 in 60
pequod_dag_nodes_total{resourcegraph=/web} 1
pequod_dag_nodes_total{resourcegraph=shop/web} 4
`},
		{"reconciled", func(m *Metrics) {
			m.Reconciled("shop", "web", "success", time.Second)
			m.Reconciled("shop", "web", "error", time.Second)
			m.ReconcileFailed("shop", "web", "InventoryFailed")
			m.Drift("shop", "web", "config")
		}, `
pequod_drift_total{resourcegraph=shop/web} 1
pequod_reconcile_duration_seconds{controller=resourcegraph} 2 in 2
pequod_reconcile_errors_total{controller=resourcegraph,error_type=InventoryFailed} 1
pequod_reconcile_total{controller=resourcegraph,result=error} 1
pequod_reconcile_total{controller=resourcegraph,result=success} 1
`},
		{"managed", func(m *Metrics) {
			m.Managed("shop", "web", []inventory.Entry{
				entry("", "ConfigMap", "shop", "a"), entry("", "ConfigMap", "shop", "b"), entry("", "Namespace", "", "shop"),
				{Key: inventory.Key{Kind: "ConfigMap", Namespace: "shop", Name: "intent"}, Version: "v1"},
			})
			m.Managed("shop", "other", []inventory.Entry{entry("", "ConfigMap", "shop", "c")})
			m.Managed("shop", "web", []inventory.Entry{entry("", "ConfigMap", "shop", "a")})
		}, `
pequod_resources_managed{gvk=v1/ConfigMap,namespace=shop} 2
`},
	} {
		t.Run(test.name, func(t *testing.T) {
			reg := prometheus.NewPedanticRegistry()
			m := New(reg)
			m.now = func() time.Time { return start }
			m.Declare(graphOf(t, web))
			test.tell(m)
			if diff := cmp.Diff(with(fresh, test.want), series(t, reg)); diff != "" {
				t.Errorf("series (-want +got):\n%s", diff)
			}
		})
	}
}

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func entry(group, kind, namespace, name string) inventory.Entry {
	return inventory.Entry{Key: inventory.Key{Group: group, Kind: kind, Namespace: namespace, Name: name}, Version: "v1", UID: "u"}
}

// with are the lines of a text, but for those that another has too, with
// another value.
func with(text, more string) []string {
	lines := map[string]string{}
	for line := range strings.Lines(strings.TrimSpace(text) + "\n" + strings.TrimSpace(more) + "\n") {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "} "); ok {
			lines[name] = value
		}
	}
	var all []string
	for name, value := range lines {
		all = append(all, name+"} "+value)
	}
	slices.Sort(all)
	return all
}

// series are all series of a registry, one a line; of a histogram how many
// values there were, and their sum.
func series(t *testing.T, reg prometheus.Gatherer) []string {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, f := range families {
		for _, m := range f.GetMetric() {
			lines = append(lines, fmt.Sprintf("%s{%s} %s", f.GetName(), labelsOf(m), valueOf(f, m)))
		}
	}
	slices.Sort(lines)
	return lines
}

// countOf is how many series a metric has.
func countOf(t *testing.T, reg prometheus.Gatherer, name string) (n int) {
	t.Helper()
	for _, line := range series(t, reg) {
		if strings.HasPrefix(line, name+"{") {
			n++
		}
	}
	return n
}

func labelsOf(m *dto.Metric) string {
	var labels []string
	for _, l := range m.GetLabel() {
		labels = append(labels, l.GetName()+"="+l.GetValue())
	}
	return strings.Join(labels, ",")
}

func valueOf(f *dto.MetricFamily, m *dto.Metric) string {
	switch f.GetType() {
	case dto.MetricType_HISTOGRAM:
		return fmt.Sprintf("%d in %g", m.GetHistogram().GetSampleCount(), m.GetHistogram().GetSampleSum())
	case dto.MetricType_GAUGE:
		return fmt.Sprint(m.GetGauge().GetValue())
	}
	return fmt.Sprint(m.GetCounter().GetValue())
}

// reportAll calls every method that creates series for a graph.
func reportAll(m *Metrics, rg *v1alpha1.ResourceGraph) {
	m.Declare(rg)
	for _, n := range rg.Spec.Graph.Nodes {
		m.NodeApplied(rg.Namespace, rg.Name, n.ID, engine.Created, time.Second)
		m.NodeApplyFailed(rg.Namespace, rg.Name, n.ID, engine.ReasonConflict)
		m.NodeReady(rg.Namespace, rg.Name, n.ID, time.Second)
		m.NodeApplied(rg.Namespace, rg.Name, n.ID, engine.Created, time.Second)
		m.ReadinessTimeout(rg.Namespace, rg.Name, n.ID)
		m.Drift(rg.Namespace, rg.Name, n.ID)
	}
	m.Executed(rg.Namespace, rg.Name, "Completed", time.Second, 3, 2)
	m.Executed(rg.Namespace, rg.Name, "Failed", time.Second, 3, 2)
	m.Managed(rg.Namespace, rg.Name, []inventory.Entry{entry("", "ConfigMap", rg.Namespace, "a")})
}

// mentions are the series that have a value as one of their labels.
func mentions(lines []string, value string) (found []string) {
	for _, line := range lines {
		for _, end := range []string{",", "}"} {
			if strings.Contains(line, "="+value+end) {
				found = append(found, line)
				break
			}
		}
	}
	return found
}

func TestForget(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m := New(reg)
	first, second := graphOf(t, web), graphOf(t, web)
	second.Name = "second"
	second.Spec.Graph.Nodes = second.Spec.Graph.Nodes[:1]
	reportAll(m, first)
	before := series(t, reg)
	for _, value := range []string{"shop/web", "config", "deployment", "apps/v1/Deployment", "v1/ConfigMap", "shop"} {
		if len(mentions(before, value)) == 0 {
			t.Fatalf("no series of %s in:\n%s", value, strings.Join(before, "\n"))
		}
	}
	reportAll(m, second)

	m.Forget("shop", "web")
	left := series(t, reg)
	for _, gone := range []string{"shop/web", "deployment", "apps/v1/Deployment"} {
		if found := mentions(left, gone); len(found) > 0 {
			t.Errorf("%s is forgotten and has series:\n%s", gone, strings.Join(found, "\n"))
		}
	}
	for _, shared := range []string{"shop/second", "config", "v1/ConfigMap", "shop"} {
		if len(mentions(left, shared)) == 0 {
			t.Errorf("the second graph's series of %s are gone", shared)
		}
	}

	m.Forget("shop", "second")
	m.Forget("shop", "never-seen")
	for _, gone := range []string{"shop/second", "config", "v1/ConfigMap", "shop"} {
		if found := mentions(series(t, reg), gone); len(found) > 0 {
			t.Errorf("%s is forgotten and has series:\n%s", gone, strings.Join(found, "\n"))
		}
	}
	if len(m.graphs)+len(m.objects)+len(m.nodeIDs.values)+len(m.kinds.values)+len(m.executions.values)+len(m.drifts.values) > 0 {
		t.Errorf("something is left of graphs: %+v %+v %+v %+v %+v %+v", m.graphs, m.objects, m.nodeIDs, m.kinds, m.executions, m.drifts)
	}
}

// A node that leaves its graph takes its node_id along.
func TestDeclareForgetsNodes(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m := New(reg)
	rg := graphOf(t, web)
	reportAll(m, rg)
	rg.Spec.Graph.Nodes = rg.Spec.Graph.Nodes[:1]
	m.Declare(rg)
	if found := mentions(series(t, reg), "deployment"); len(found) > 0 {
		t.Errorf("series of a node that left:\n%s", strings.Join(found, "\n"))
	}
	if len(mentions(series(t, reg), "config")) == 0 {
		t.Error("the series of a node that stayed are gone")
	}
	if len(m.graphs[graphKey{"shop", "web"}].applied) != 1 {
		t.Error("it is still known when a node that left was applied")
	}
}

func TestNodeIDsAreCapped(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m := New(reg)
	ready := func(graph string, nodes int) {
		for i := range nodes {
			m.NodeReady("shop", graph, fmt.Sprintf("%s-%d", graph, i), time.Second)
		}
	}
	count := func() int {
		return countOf(t, reg, "pequod_dag_node_execution_duration_seconds")
	}
	ready("big", 3*nodeIDsPerGraph)
	if got, want := count(), nodeIDsPerGraph+1; got != want {
		t.Errorf("%d values of node_id after one graph; want %d", got, want)
	}
	ready("big", nodeIDsPerGraph) // those that are known
	if got := mentions(series(t, reg), "big-0"); !slices.Contains(got, "pequod_dag_node_execution_duration_seconds{node_id=big-0,result=success} 2 in 2") {
		t.Errorf("a known node: %q", got)
	}
	for g := range 2 * nodeIDsInAll / nodeIDsPerGraph {
		ready(fmt.Sprintf("g%d", g), nodeIDsPerGraph)
	}
	if got, want := count(), nodeIDsInAll+1; got != want {
		t.Errorf("%d values of node_id after many graphs; want %d", got, want)
	}
	m.Forget("shop", "big")
	ready("late", 1)
	if len(mentions(series(t, reg), "late-0")) != 1 {
		t.Error("what a graph left free isn't taken")
	}
}

// The metrics of many graphs have a bounded number of series, exact totals, and the largest
// graphs by name.
func TestGraphsAreCapped(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m := New(reg)
	const graphs = graphsInAll + 500
	nodes := 0
	for i := range graphs {
		name := fmt.Sprintf("g%04d", i)
		m.Executed("shop", name, "Completed", time.Second, i, 1)
		m.Drift("shop", name, "config")
		nodes += i
	}
	check := func(when string, executions, drifts, nodes int) {
		t.Helper()
		for name, want := range map[string]int{
			"pequod_dag_execution_duration_seconds": executions, "pequod_drift_total": drifts, "pequod_dag_nodes_total": nodes,
		} {
			if got := countOf(t, reg, name); got != graphsInAll+1 {
				t.Errorf("%s: %d series of %s; want %d", when, got, name, graphsInAll+1)
			}
			if got := totalOf(t, reg, name); got != want {
				t.Errorf("%s: %s is %d in total; want %d", when, name, got, want)
			}
		}
	}
	check("all", graphs, graphs, nodes)
	has := func(line string) {
		t.Helper()
		if !slices.Contains(series(t, reg), line) {
			t.Errorf("%s is missing", line)
		}
	}
	has("pequod_dag_execution_duration_seconds{resourcegraph=shop/g0000,result=success} 1 in 1")
	has("pequod_dag_execution_duration_seconds{resourcegraph=other,result=success} 500 in 500")
	has("pequod_drift_total{resourcegraph=shop/g0999} 1")
	has("pequod_drift_total{resourcegraph=other} 500")
	has(fmt.Sprintf("pequod_dag_nodes_total{resourcegraph=shop/g%d} %[1]d", graphs-1))
	has(fmt.Sprintf("pequod_dag_nodes_total{resourcegraph=other} %d", 499*500/2))

	// The place of a graph that is gone is free for the next one.
	m.Forget("shop", "g0000")
	if found := mentions(series(t, reg), "shop/g0000"); len(found) > 0 {
		t.Errorf("series of a graph that is gone: %q", found)
	}
	m.Executed("shop", "g1400", "Completed", time.Second, 1400, 1)
	m.Drift("shop", "g1400", "config")
	m.Executed("shop", "g1401", "Completed", time.Second, 1401, 1)
	check("after one is gone", graphs+1, graphs, nodes)
	has("pequod_dag_execution_duration_seconds{resourcegraph=shop/g1400,result=success} 1 in 1")
	has("pequod_drift_total{resourcegraph=shop/g1400} 1")
	has("pequod_dag_execution_duration_seconds{resourcegraph=other,result=success} 501 in 501")
}

// totalOf is the sum of all values of a metric, or of the numbers of its observations.
func totalOf(t *testing.T, reg prometheus.Gatherer, name string) (sum int) {
	t.Helper()
	for _, line := range series(t, reg) {
		if _, value, ok := strings.Cut(line, "} "); ok && strings.HasPrefix(line, name+"{") {
			var n float64
			if _, err := fmt.Sscan(value, &n); err != nil {
				t.Fatal(err)
			}
			sum += int(n)
		}
	}
	return sum
}

func TestKindsAreCapped(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m := New(reg)
	rg := graphOf(t, web)
	node := rg.Spec.Graph.Nodes[0]
	rg.Spec.Graph.Nodes = nil
	for i := range 2 * kindsPerGraph {
		n := *node.DeepCopy()
		n.ID = fmt.Sprint("n", i)
		n.Resource.Raw = fmt.Appendf(nil, `{"apiVersion": "example.com/v1", "kind": "Kind%d"}`, i)
		rg.Spec.Graph.Nodes = append(rg.Spec.Graph.Nodes, n)
	}
	m.Declare(rg)
	for _, n := range rg.Spec.Graph.Nodes {
		m.NodeApplyFailed(rg.Namespace, rg.Name, n.ID, engine.ReasonUnknownKind)
	}
	if got, want := countOf(t, reg, "pequod_apply_total"), kindsPerGraph+1; got != want {
		t.Errorf("%d values of gvk; want %d", got, want)
	}
}

// teller is the interface through which a driver of graphs reports.
type teller interface {
	NodeApplied(ns, graph, node string, op engine.Operation, took time.Duration)
	NodeApplyFailed(ns, graph, node, reason string)
	NodeReady(ns, graph, node string, waited time.Duration)
	ReadinessTimeout(ns, graph, node string)
	Executed(ns, graph, phase string, took time.Duration, nodes, waves int)
	AdoptionDone(ns, graph, mode string, err error)
	Drift(ns, graph, node string)
	Reconciled(ns, graph, result string, took time.Duration)
	Forget(ns, graph string)
}

// Many workers tell at once.
func TestConcurrency(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m := New(reg)
	var _ teller = m
	var wg sync.WaitGroup
	for i := range 8 {
		rg := graphOf(t, web)
		rg.Name = fmt.Sprint("g", i)
		wg.Go(func() {
			for range 20 {
				reportAll(m, rg)
				m.Forget(rg.Namespace, rg.Name)
			}
		})
	}
	wg.Wait()
	for _, name := range []string{"pequod_dag_node_execution_duration_seconds", "pequod_dag_nodes_total", "pequod_resources_managed"} {
		if n := countOf(t, reg, name); n != 0 {
			t.Errorf("%d series of %s are left of graphs that are forgotten", n, name)
		}
	}
}
