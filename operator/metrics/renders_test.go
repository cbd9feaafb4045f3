package metrics

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/pequod-io/pequod/operator/worker"
)

var _ worker.Metrics = (*Renders)(nil)

// gather returns the values of all series, and the numbers of observations, by the name of
// the metric and the values of its labels.
func gather(t *testing.T, reg *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			name := f.GetName()
			for _, l := range m.Label {
				name += " " + l.GetValue()
			}
			got[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return got
}

// TestRenders checks what is counted, and that the series of a platform are removed with it.
func TestRenders(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	r := NewRenders(reg)
	r.Rendered("shop/web", time.Millisecond, "")
	r.Rendered("shop/web", time.Second, "Timeout")
	r.Failed("shop/web", "Timeout")
	r.Processes(2)
	want := map[string]float64{
		"pequod_cue_render_duration_seconds shop/web": 2, "pequod_cue_render_errors_total Timeout shop/web": 1,
		"pequod_cue_process_failures_total Timeout shop/web": 1, "pequod_cue_processes": 2,
	}
	if diff := cmp.Diff(want, gather(t, reg)); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
	r.Forgotten("shop/web")
	if diff := cmp.Diff(map[string]float64{"pequod_cue_processes": 2}, gather(t, reg)); diff != "" {
		t.Errorf("metrics without the platform (-want +got):\n%s", diff)
	}
}
