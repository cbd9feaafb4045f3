//go:build linux

package main_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sync/errgroup"
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
	pool, keys := workers(b, 1, worker.Options{Idle: time.Second})
	key := keys[0]
	n := 0
	render := func() {
		n++
		if err := renderWith(b, pool, key, n); err != nil {
			b.Fatal(err)
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

// BenchmarkPlatforms measures the processor time for 1,800 instances in the processes of the manager: of one
// platform, and of sixty with thirty each, with the default number of processes and with sixteen. The
// platforms are loaded before. The aim is at most 1.3 times the time of one platform.
func BenchmarkPlatforms(b *testing.B) {
	for range b.N {
		var one time.Duration
		for _, c := range []struct{ platforms, processes int }{{1, 0}, {60, 0}, {60, 16}} {
			pool, keys := workers(b, c.platforms, worker.Options{Processes: c.processes})
			began := processorTime(b)
			var all errgroup.Group
			for _, key := range keys {
				next := make(chan int, 1800)
				for n := range 1800 / c.platforms {
					next <- n
				}
				close(next)
				for range 4 { // as many as the manager renders of a kind at once
					all.Go(func() error {
						for n := range next {
							if err := renderWith(b, pool, key, n); err != nil {
								return err
							}
						}
						return nil
					})
				}
			}
			if err := all.Wait(); err != nil {
				b.Fatal(err)
			}
			took := processorTime(b) - began
			if pool.Close(); c.platforms == 1 {
				one = took
				b.ReportMetric(float64(took)/1800/1e6, "ms/instance")
				continue
			}
			b.ReportMetric(float64(took)/float64(one), fmt.Sprintf("ratio-%d-processes", cmp.Or(c.processes, 64)))
		}
	}
	b.ReportMetric(0, "ns/op")
}

// workers returns a pool of the manager's processes, with platforms that are loaded.
func workers(b *testing.B, platforms int, o worker.Options) (*worker.Pool, []worker.Key) {
	b.Helper()
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
	o.Dir, o.Command, o.Timeout = b.TempDir(), []string{filepath.Join(bin, "pequod-manager"), "worker"}, time.Minute
	pool, err := worker.New(o)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(pool.Close)
	var keys []worker.Key
	for i := range platforms {
		key := worker.Key{Transform: types.NamespacedName{Namespace: "shop", Name: fmt.Sprint("web-", i)}, Digest: transform.Digest(sources)}
		if _, err := pool.Load(b.Context(), key, sources); err != nil {
			b.Fatal(err)
		}
		keys = append(keys, key)
	}
	return pool, keys
}

// renderWith renders an instance with a number.
func renderWith(b *testing.B, pool *worker.Pool, key worker.Key, n int) error {
	r, err := pool.Render(b.Context(), key, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "pequod.io/v1alpha1", "kind": "WebService",
		"metadata": map[string]any{"name": fmt.Sprintf("app-%d", n), "namespace": "default"},
		"spec":     map[string]any{"image": "nginx:latest", "port": int64(80), "replicas": int64(3)},
	}}, "default")
	if err == nil && r.Graph == nil {
		err = fmt.Errorf("no graph: %v", r)
	}
	return err
}

// processorTime returns the processor time of this process and of those that it has started.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	sum := time.Duration(0)
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if err := syscall.Getrusage(who, &u); err != nil {
			b.Fatal(err)
		}
		sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	for _, id := range children(b) {
		p, err := procfs.NewProc(id)
		if err != nil {
			continue // it has ended
		}
		if stat, err := p.Stat(); err == nil {
			sum += time.Duration(stat.CPUTime() * 1e9)
		}
	}
	return sum
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
