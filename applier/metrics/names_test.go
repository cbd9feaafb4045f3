package metrics

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
)

// TestNames holds what is registered against what is promised.
func TestNames(t *testing.T) {
	want := map[string][]string{
		"pequod_reconcile_total":                     {"controller", "result"},
		"pequod_reconcile_duration_seconds":          {"controller"},
		"pequod_reconcile_errors_total":              {"controller", "error_type"},
		"pequod_dag_nodes_total":                     {"resourcegraph"},
		"pequod_dag_execution_duration_seconds":      {"resourcegraph", "result"},
		"pequod_dag_node_execution_duration_seconds": {"node_id", "result"},
		"pequod_apply_total":                         {"result", "mode", "gvk"},
		"pequod_apply_duration_seconds":              {"mode", "gvk"},
		"pequod_resources_managed":                   {"gvk", "namespace"},
		"pequod_adoption_total":                      {"result"},
		"pequod_adoption_duration_seconds":           nil,
		"pequod_drift_total":                         {"resourcegraph"},
		"pequod_graphs_waiting":                      nil,
		"pequod_graphs":                              {"namespace", "condition", "status"},
		"pequod_policy_violations_total":             {"severity"},
		"pequod_history_rewrites_total":              nil,
	}
	if diff := cmp.Diff(want, ownMetrics(t)); diff != "" {
		t.Errorf("metrics and labels (-want +got):\n%s", diff)
	}
	types := typesOf(t)
	for name := range want {
		typ := "counter"
		switch {
		case strings.HasSuffix(name, "_seconds"):
			typ = "histogram"
		case name == "pequod_dag_nodes_total", name == "pequod_resources_managed", name == "pequod_graphs_waiting", name == "pequod_graphs":
			typ = "gauge"
		}
		if types[name] != typ {
			t.Errorf("%s is a %s; want a %s", name, types[name], typ)
		}
	}
}

var described = regexp.MustCompile(`fqName: "([^"]+)".*variableLabels: \{([^}]*)\}`)

// labelsIn are the metrics of a collector with their labels.
func labelsIn(c prometheus.Collector) map[string][]string {
	descs := make(chan *prometheus.Desc)
	go func() {
		c.Describe(descs)
		close(descs)
	}()
	found := map[string][]string{}
	for d := range descs {
		m := described.FindStringSubmatch(d.String())
		found[m[1]] = strings.FieldsFunc(m[2], func(r rune) bool { return r == ',' })
		if len(found[m[1]]) == 0 {
			found[m[1]] = nil
		}
	}
	return found
}

func ownMetrics(t *testing.T) map[string][]string {
	t.Helper()
	reg := prometheus.NewPedanticRegistry()
	New(reg)
	return labelsIn(reg)
}
