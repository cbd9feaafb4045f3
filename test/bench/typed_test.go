//go:build unix

package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pequod-io/pequod/test/vendored"
)

// typedModule copies the module of typed objects to a new directory and vendors the
// types of Kubernetes in it, which `cue get go` generates from this module's own
// dependencies.
func typedModule(b *testing.B, cue string) (dir string) {
	b.Helper()
	dir = b.TempDir()
	if err := os.CopyFS(dir, os.DirFS("test/bench/testdata/typed")); err != nil {
		b.Fatal(err)
	}
	err := vendored.Kubernetes(b.Context(), cue, ".", dir,
		"apps/v1", "autoscaling/v2", "batch/v1", "core/v1", "networking/v1", "policy/v1", "rbac/v1")
	if err != nil {
		b.Fatal(err)
	}
	return dir
}

// BenchmarkTyped renders many instances of a module whose objects have Kubernetes'
// types. The aims: cpu/linear, the time of 1,000 instances divided by four times that
// of 250, is about 1, and the peak is at most 300 MiB and the same for both.
func BenchmarkTyped(b *testing.B) {
	bin, err := programs()
	if err != nil {
		b.Fatal(err)
	}
	dir := typedModule(b, filepath.Join(bin, "cue"))
	runs := map[int]process{}
	for _, n := range []int{250, 1000} {
		var all strings.Builder
		for i := range n {
			fmt.Fprintf(&all, "---\napiVersion: pequod.io/v1alpha1\nkind: Typed\nmetadata: {name: app-%d, namespace: default}\n"+
				"spec: {image: \"nginx:1.%d\", env: {A: b, C: d}, hosts: [a%d.example.com]}\n", i, i%30, i)
		}
		file := fmt.Sprintf("%d.yaml", n)
		if err := os.WriteFile(filepath.Join(dir, file), []byte(all.String()), 0o600); err != nil {
			b.Fatal(err)
		}
		runs[n] = process{dir, []string{filepath.Join(bin, "pequod"), "render", "-p", ".", "-f", file}}
	}
	var linear, few, many, wall []float64
	for range b.N {
		for range 3 {
			small, large := runs[250].run(b), runs[1000].run(b)
			linear = append(linear, float64(large.cpu)/float64(small.cpu)/4)
			few, many = append(few, small.peakMiB), append(many, large.peakMiB)
			wall = append(wall, float64(large.wall)/1e6)
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(linear), "cpu/linear")
	b.ReportMetric(median(few), "peak-MiB-250")
	b.ReportMetric(median(many), "peak-MiB-1000")
	b.ReportMetric(median(wall), "ms")
}

// BenchmarkSpecs generates the CRDs of platforms whose input is the spec of a kind of
// Kubernetes. The aims: at most 0.3 s and 130 MiB each.
func BenchmarkSpecs(b *testing.B) {
	bin, err := programs()
	if err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	if err := vendored.Specs(b.Context(), filepath.Join(bin, "cue"), ".", dir); err != nil {
		b.Fatal(err)
	}
	for _, k := range vendored.Kinds {
		b.Run(k.Kind, func(b *testing.B) {
			generate := process{dir, []string{filepath.Join(bin, "pequod"), "crd", "generate", "-p", "./" + k.Name()}}
			var cpu, peak []float64
			for range b.N {
				for range 5 {
					m := generate.run(b)
					cpu, peak = append(cpu, m.cpu.Seconds()), append(peak, m.peakMiB)
				}
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(median(cpu), "cpu-s")
			b.ReportMetric(median(peak), "peak-MiB")
		})
	}
}
