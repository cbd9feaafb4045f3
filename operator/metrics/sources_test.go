package metrics_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/modules/cache"
	"github.com/pequod-io/pequod/operator/metrics"
)

// TestSources checks the values of the metrics, and that the handbook lists them.
func TestSources(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	stats := cache.Stats{Hits: 5, Misses: 4, Evictions: 3, Entries: 2, SizeBytes: 1}
	s := metrics.NewSources(reg, func() cache.Stats { return stats })
	s.Fetched(v1alpha1.CueRefOCI, time.Second, nil)
	s.Fetched(v1alpha1.CueRefOCI, time.Second, nil)
	s.Fetched(v1alpha1.CueRefGit, time.Second, errors.New("x"))
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, l := range m.GetLabel() {
				name += " " + l.GetName() + "=" + l.GetValue()
			}
			got[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	want := map[string]float64{
		"pequod_cue_fetch_total result=success source=oci": 2, "pequod_cue_fetch_total result=failure source=oci": 0,
		"pequod_cue_fetch_total result=success source=git": 0, "pequod_cue_fetch_total result=failure source=git": 1,
		"pequod_cue_fetch_duration_seconds source=oci": 2, "pequod_cue_fetch_duration_seconds source=git": 1,
		"pequod_cue_cache_hits_total": 5, "pequod_cue_cache_misses_total": 4, "pequod_cue_cache_evictions_total": 3,
		"pequod_cue_cache_entries": 2, "pequod_cue_cache_size_bytes": 1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	handbook, err := os.ReadFile(filepath.Join("..", "..", "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if !strings.Contains(string(handbook), "| `"+f.GetName()+"`") {
			t.Errorf("docs/operations.md doesn't list %s", f.GetName())
		}
	}
}
