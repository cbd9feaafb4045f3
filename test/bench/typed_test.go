//go:build unix

package main_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
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
	for _, name := range []string{"go.mod", "go.sum"} {
		data, err := os.ReadFile(name)
		if err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	args := []string{"get", "go"}
	for _, pkg := range []string{"apps/v1", "autoscaling/v2", "batch/v1", "core/v1", "networking/v1", "policy/v1", "rbac/v1"} {
		args = append(args, "k8s.io/api/"+pkg)
	}
	get := exec.Command(cue, args...)
	get.Dir = dir
	get.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off")
	if out, err := get.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	// CUE v0.17 takes embedded structs such as TypeMeta for fields, because their tags in
	// Go have no "inline" since Kubernetes 1.37. No field in JSON begins with a capital.
	embedded := regexp.MustCompile(`(?m)^(\t+)[A-Z]\w*\??: ((\w+\.)?#\w+)( @protobuf\(.*\))?$`)
	err := filepath.WalkDir(filepath.Join(dir, "cue.mod", "gen", "k8s.io", "api"), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(path, embedded.ReplaceAll(data, []byte("$1$2")), 0o600)
	})
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
