package metrics

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/pequod-io/pequod/operator/worker"
)

var _ worker.Metrics = (*Metrics)(nil)

// metricRow is a row of the table in the handbook.
var metricRow = regexp.MustCompile("(?m)^\\| `(pequod_cue_(?:render|process)\\w*)` \\| (\\w+) \\| ([\\w, ]*)\\|")

// TestHandbook checks that the handbook lists all metrics, and that the series of a platform
// end with it.
func TestHandbook(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m := New(reg)
	m.Rendered("shop/web", time.Second, "timeout")
	m.Processes(3)
	m.Failed("shop/web", "timeout")
	want := gather(t, reg)
	text, err := os.ReadFile("../../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, row := range metricRow.FindAllStringSubmatch(string(text), -1) {
		got[row[1]] = row[2] + ": " + strings.TrimSpace(row[3])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics (-registered +handbook):\n%s", diff)
	}
	m.Forgotten("shop/web")
	if diff := cmp.Diff(map[string]string{"pequod_cue_processes": "gauge: "}, gather(t, reg)); diff != "" {
		t.Errorf("metrics without a platform:\n%s", diff)
	}
}

// gather returns the type and the labels of each metric.
func gather(t *testing.T, reg prometheus.Gatherer) map[string]string {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, f := range families {
		labels := map[string]bool{}
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels[l.GetName()] = true
		}
		var names []string
		for _, name := range []string{"platform", "error_type"} {
			if labels[name] {
				names = append(names, name)
			}
		}
		all[f.GetName()] = strings.ToLower(f.GetType().String()) + ": " + strings.Join(names, ", ")
	}
	return all
}
