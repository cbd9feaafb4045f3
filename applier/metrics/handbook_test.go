package metrics

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const handbook = "../../docs/operations.md"

var metricRow = regexp.MustCompile("(?m)^\\| `(pequod_\\w+)` \\| (\\w+) \\| ([\\w, ]*)\\|")

// TestHandbook checks that the handbook lists all metrics of graphs, and the bounds of labels. Package
// config checks it for the metrics of both programs, and for the alerts.
func TestHandbook(t *testing.T) {
	data, err := os.ReadFile(handbook)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	want := map[string]string{}
	types := typesOf(t)
	for name, labels := range ownMetrics(t) {
		want[name] = types[name] + ": " + strings.Join(labels, ", ")
	}
	got := map[string]string{}
	for _, m := range metricRow.FindAllStringSubmatch(text, -1) {
		if want[m[1]] != "" { // package operator/metrics has others
			got[m[1]] = m[2] + ": " + strings.TrimSpace(m[3])
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics (-registered +handbook):\n%s", diff)
	}

	bounds := fmt.Sprintf("Each metric has at most %d values of `resourcegraph`:", graphsInAll)
	if !strings.Contains(strings.Join(strings.Fields(text), " "), bounds) {
		t.Errorf("the handbook doesn't say %q", bounds)
	}
	bounds = fmt.Sprintf("A graph adds at most %d values of `node_id`, those of the nodes that became ready first, and all graphs together at most %d. For `gvk` the limits are %d and %d.",
		nodeIDsPerGraph, nodeIDsInAll, kindsPerGraph, kindsInAll)
	if !strings.Contains(strings.Join(strings.Fields(text), " "), bounds) {
		t.Errorf("the handbook doesn't say %q", bounds)
	}
}

// typesOf returns the types of the metrics.
func typesOf(t *testing.T) map[string]string {
	t.Helper()
	reg := prometheus.NewPedanticRegistry()
	m := New(reg)
	reportAll(m, graphOf(t, web))
	m.Reconciled("shop", "web", "success", 0)
	m.Waiting(0)
	m.Conditions("shop", "web", []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue}})
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	types := map[string]string{}
	for _, f := range families {
		types[f.GetName()] = strings.ToLower(f.GetType().String())
	}
	return types
}
