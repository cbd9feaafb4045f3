package metrics

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
)

// The compact histogram is exposed as the one of the library.
func TestWaitsAreHistograms(t *testing.T) {
	const name, help = "waited_seconds", "Time."
	expose := func(c prometheus.Collector) string {
		t.Helper()
		reg := prometheus.NewRegistry()
		reg.MustRegister(c)
		families, err := reg.Gather()
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		for _, family := range families {
			if _, err := expfmt.MetricFamilyToText(&out, family); err != nil {
				t.Fatal(err)
			}
		}
		return out.String()
	}
	want := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: prefix + name, Help: help, Buckets: waitBuckets[:]}, []string{"graph", "result"})
	got := newWaits(name, help, [2]string{"graph", "result"})
	for i, seconds := range []float64{0, .05, .0501, 3, 5, 1800, 1801, 1e6} {
		labels := [2]string{fmt.Sprintf("shop/g%d", i%3), resultSuccess}
		got.observe(seconds, labels)
		want.WithLabelValues(labels[0], labels[1]).Observe(seconds)
	}
	got.remove([2]string{"shop/g1", resultSuccess})
	want.DeleteLabelValues("shop/g1", resultSuccess)
	if got, want := expose(got), expose(want); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
