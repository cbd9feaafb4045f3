//go:build linux

package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/modules"
	"github.com/pequod-io/pequod/modules/transform"
	"github.com/pequod-io/pequod/operator/worker"
)

// BenchmarkWorker measures one process of the manager that evaluates the module webservice: the
// time until a new process has rendered its first instance, the rate after that, and the memory
// that the process does not share with others of the program. The aims: at most 0.2 s, at least
// 200 instances a second, and at most 64 MiB.
func BenchmarkWorker(b *testing.B) {
	bin, err := programs()
	if err != nil {
		b.Fatal(err)
	}
	spec := v1alpha1.TransformSpec{CueRef: v1alpha1.CueRef{Type: v1alpha1.CueRefEmbedded, Ref: "webservice"}}
	opened, err := transform.Open(b.Context(), &modules.Opener{}, "web", spec, func(string) modules.Place { return modules.Place{} })
	if err != nil {
		b.Fatal(err)
	}
	sources, err := opened.Encode()
	if err != nil {
		b.Fatal(err)
	}
	pool, err := worker.New(worker.Options{
		Dir: b.TempDir(), Command: []string{filepath.Join(bin, "pequod-manager"), "worker"}, Idle: time.Second, Timeout: time.Minute,
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(pool.Close)
	key := worker.Key{Transform: types.NamespacedName{Namespace: "shop", Name: "web"}, Digest: transform.Digest(sources)}
	if _, err := pool.Load(b.Context(), key, sources); err != nil {
		b.Fatal(err)
	}
	n := 0
	render := func() {
		n++
		r, err := pool.Render(b.Context(), key, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "pequod.io/v1alpha1", "kind": "WebService",
			"metadata": map[string]any{"name": fmt.Sprintf("app-%d", n), "namespace": "default"},
			"spec":     map[string]any{"image": "nginx:latest", "port": int64(80), "replicas": int64(3)},
		}}, "default")
		if err != nil || r.Graph == nil {
			b.Fatal(err, r)
		}
	}
	var starts, rates, peaks []float64
	for range b.N {
		for range 7 {
			for len(children(b)) > 0 { // the last one ends because it is idle
				time.Sleep(time.Millisecond)
			}
			begin := time.Now()
			render()
			starts = append(starts, float64(time.Since(begin))/1e6)
			peak := 0
			begin = time.Now()
			const renderings = 500
			for i := range renderings {
				render()
				if i%50 == 0 {
					for _, id := range children(b) {
						peak = max(peak, anonymous(b, id))
					}
				}
			}
			rates = append(rates, renderings/time.Since(begin).Seconds())
			peaks = append(peaks, float64(peak)/1024)
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(starts), "start-ms")
	b.ReportMetric(median(rates), "instances/s")
	b.ReportMetric(median(peaks), "peak-MiB")
}

// children returns the process ids of the processes that this one has started.
func children(b *testing.B) []int {
	b.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		b.Fatal(err)
	}
	var ids []int
	for _, stat := range stats {
		data, err := os.ReadFile(stat)
		if err != nil {
			continue // it has ended
		}
		var parent int
		if m := regexp.MustCompile(`^\d+ \(.*\) [^Z] (\d+) `).FindSubmatch(data); m != nil {
			parent, _ = strconv.Atoi(string(m[1]))
		}
		if id, err := strconv.Atoi(filepath.Base(filepath.Dir(stat))); err == nil && parent == os.Getpid() {
			ids = append(ids, id)
		}
	}
	return ids
}

// anonymous returns the memory of a process without mapped files, in KiB: processes share the
// pages of their program. It is 0 once the process has ended.
func anonymous(b *testing.B, id int) int {
	b.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", id))
	if err != nil {
		return 0
	}
	if m := regexp.MustCompile(`RssAnon:\s+(\d+) kB`).FindSubmatch(data); m != nil {
		kib, _ := strconv.Atoi(string(m[1]))
		return kib
	}
	return 0
}
