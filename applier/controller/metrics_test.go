package controller_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/pequod-io/pequod/applier/metrics"
	"github.com/pequod-io/pequod/test/harness"
)

// TestMetrics holds that the metrics are told what they need to know, and that a
// graph takes its series along.
func TestMetrics(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	reg := prometheus.NewPedanticRegistry()
	b.options.Metrics = metrics.New(reg)
	b.start(b.Config)
	b.apply(b.rendered("web", nodes(configMap("a", "a", "1"), configMap("b", "b", "1"))))
	b.ready("web")
	graph := b.Namespace + "/web"
	want := []string{
		"pequod_apply_duration_seconds{gvk=v1/ConfigMap,mode=Apply} 2",
		"pequod_apply_total{gvk=v1/ConfigMap,mode=Apply,result=success} 2",
		"pequod_dag_execution_duration_seconds{resourcegraph=" + graph + ",result=success} 1",
		"pequod_dag_node_execution_duration_seconds{node_id=a,result=success} 1",
		"pequod_dag_node_execution_duration_seconds{node_id=b,result=success} 1",
		"pequod_dag_nodes_total{resourcegraph=" + graph + "} 2",
		"pequod_graphs{condition=Ready,namespace=" + b.Namespace + ",status=True} 1",
		"pequod_resources_managed{gvk=v1/ConfigMap,namespace=" + b.Namespace + "} 2",
	}
	harness.Eventually(t, b.patience, func(context.Context) error {
		if diff := cmp.Diff(want, series(t, reg)); diff != "" {
			return fmt.Errorf("series (-want +got):\n%s", diff)
		}
		return nil
	})
	b.remove("web")
	harness.Eventually(t, b.patience, func(context.Context) error {
		if left := series(t, reg); len(left) > 0 {
			return fmt.Errorf("the graph is gone, and there is %s", strings.Join(left, ", "))
		}
		return nil
	})
}

// series are the series that some graph or kind has, with their values, or how
// many there were.
func series(t *testing.T, reg prometheus.Gatherer) (lines []string) {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if strings.HasPrefix(f.GetName(), "pequod_reconcile_") || strings.HasPrefix(f.GetName(), "pequod_adoption_") || f.GetName() == "pequod_graphs_waiting" ||
				f.GetName() == "pequod_history_rewrites_total" || f.GetName() == "pequod_policy_violations_total" {
				continue
			}
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			value := m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			lines = append(lines, fmt.Sprintf("%s{%s} %g", f.GetName(), strings.Join(labels, ","), value))
		}
	}
	slices.Sort(lines)
	return lines
}
