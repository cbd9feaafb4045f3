//go:build unix

package main_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// The benchmarks of this file time whole processes, each against `cue export`
// of the same module in the same run, because the machines are noisy and only
// ratios travel. cue is built from this module's own dependencies.

// programs builds pequod, pequod-manager and cue once, with the flags of a release.
var programs = sync.OnceValues(func() (string, error) {
	if err := os.Chdir("../.."); err != nil { // paths are those of the checkout
		return "", err
	}
	dir, err := os.MkdirTemp("", "pequod-bench-")
	if err != nil {
		return "", err
	}
	for name, pkg := range map[string]string{"pequod": "./cmd/pequod", "pequod-manager": "./cmd/pequod-manager", "cue": "cuelang.org/go/cmd/cue"} {
		cmd := exec.Command("go", "build", "-trimpath", "-tags=kustomize_disable_go_plugin_support", "-ldflags", "-s -w", "-o", filepath.Join(dir, name), pkg)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("building %s: %w\n%s", name, err, out)
		}
	}
	return dir, nil
})

// process is a command to measure.
type process struct {
	dir  string
	args []string
}

// measured has the costs of one run.
type measured struct {
	wall, cpu time.Duration
	peakMiB   float64
}

func (p process) run(b *testing.B) measured {
	b.Helper()
	cmd := exec.Command(p.args[0], p.args[1:]...)
	cmd.Dir = p.dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	start := time.Now()
	if err := cmd.Run(); err != nil {
		b.Fatalf("%s: %v\n%s", strings.Join(p.args, " "), err, stderr.String())
	}
	m := measured{wall: time.Since(start), cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		m.peakMiB = float64(usage.Maxrss) / 1024
	}
	return m
}

func median[T int64 | float64 | time.Duration](values []T) T {
	slices.Sort(values)
	return values[len(values)/2]
}

// compare runs p and reference alternately and reports the median of the ratios
// of their times. p may take times as long as reference.
func compare(b *testing.B, p, reference process, runs int, times float64) {
	var ratios, cpu, wall, peak []float64
	for range b.N {
		p.run(b)
		reference.run(b)
		for range runs {
			m, r := p.run(b), reference.run(b)
			ratios = append(ratios, float64(m.wall)/float64(r.wall)/times)
			cpu = append(cpu, float64(m.cpu)/float64(r.cpu)/times)
			wall = append(wall, float64(m.wall)/1e6)
			peak = append(peak, m.peakMiB)
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(ratios), "wall/aim")
	b.ReportMetric(median(cpu), "cpu/aim")
	b.ReportMetric(median(wall), "ms")
	b.ReportMetric(median(peak), "peak-MiB")
}

// platform is a module of the benchmarks: an embedded one, or one in testdata.
type platform struct {
	dir, name string
	spec      string // of an instance, as CUE and YAML
}

var (
	webservice = platform{"modules/platform", "webservice", `{image: "nginx:latest", port: 80, replicas: 3}`}
	// unions has unions of structs and values that are known in the cluster only.
	unions = platform{"test/bench/testdata", "unions", `{storage: {type: "disk", size: "1Gi"}, ` +
		`env: {A: "1", B: {secret: "s", key: "k"}, C: {config: "c", key: "k"}}, ` +
		`ports: [{name: "http", port: 8080, public: true}, {name: "metrics", port: 9090}]}`}
)

// fixtures writes a module that exports the objects of one instance, and n instances
// of WebService.
func fixtures(b *testing.B, p platform, n int) (dir string) {
	b.Helper()
	dir = b.TempDir()
	module := filepath.Join(dir, p.name)
	if err := os.CopyFS(module, os.DirFS(filepath.Join(p.dir, p.name))); err != nil {
		b.Fatal(err)
	}
	example := fmt.Sprintf("package %s\n\nout: #Render & {input: {metadata: {name: \"my-app\", namespace: \"default\"}, spec: %s}}\n", p.name, p.spec)
	if err := os.WriteFile(filepath.Join(module, "example.cue"), []byte(example), 0o600); err != nil {
		b.Fatal(err)
	}
	one := fmt.Sprintf("apiVersion: pequod.io/v1alpha1\nkind: Unions\nmetadata: {name: my-app, namespace: default}\nspec: %s\n", p.spec)
	if err := os.WriteFile(filepath.Join(dir, "one.yaml"), []byte(one), 0o600); err != nil {
		b.Fatal(err)
	}
	var all strings.Builder
	for i := range n {
		fmt.Fprintf(&all, `---
apiVersion: pequod.io/v1alpha1
kind: WebService
metadata:
  name: app-%d
  namespace: team-%d
spec:
  image: nginx:1.%d
  port: %d
  replicas: %d
`, i, i%7, i%30, 1+i%65535, i%100)
	}
	if err := os.WriteFile(filepath.Join(dir, "apps.yaml"), []byte(all.String()), 0o600); err != nil {
		b.Fatal(err)
	}
	all.Reset()
	for i := range 100 {
		fmt.Fprintf(&all, `---
apiVersion: platform.pequod.io/v1alpha1
kind: Transform
metadata: {name: webservice-%d}
spec: {cueRef: {type: path, ref: webservice}, group: team-%d.example.com}
`, i, i)
	}
	if err := os.WriteFile(filepath.Join(dir, "transforms.yaml"), []byte(all.String()), 0o600); err != nil {
		b.Fatal(err)
	}
	return dir
}

// BenchmarkProcess compares whole processes with the aims of the design: wall/aim
// and cpu/aim are at most 1 if an aim is met.
func BenchmarkProcess(b *testing.B) {
	bin, err := programs()
	if err != nil {
		b.Fatal(err)
	}
	pequod, cue := filepath.Join(bin, "pequod"), filepath.Join(bin, "cue")
	for _, bench := range []struct {
		name      string
		platform  platform
		instances int
		args      []string
		// aim is the number of cue exports that the command may cost.
		aim  float64
		runs int
	}{
		{"render-1", webservice, 1, []string{"render", "-f", "apps.yaml"}, 2, 21},
		{"render-unions", unions, 1, []string{"render", "-f", "one.yaml", "-p", "unions"}, 2, 21},
		{"help", webservice, 1, []string{"--help"}, 2, 21},
		{"crd-generate", webservice, 1, []string{"crd", "generate", "-p", "embedded:webservice"}, 2, 21},
		{"validate-1", webservice, 1, []string{"validate", "-f", "apps.yaml"}, 2, 21},
		{"crd-generate-100", webservice, 1, []string{"crd", "generate", "-p", "transforms.yaml"}, 200, 3},
		{"render-1000", webservice, 1000, []string{"render", "-f", "apps.yaml"}, 100, 5},
		{"validate-1000", webservice, 1000, []string{"validate", "-f", "apps.yaml"}, 100, 5},
		{"render-10000", webservice, 10000, []string{"render", "-f", "apps.yaml"}, 1000, 3},
	} {
		b.Run(bench.name, func(b *testing.B) {
			dir := fixtures(b, bench.platform, bench.instances)
			compare(b,
				process{dir, append([]string{pequod}, bench.args...)},
				process{dir, []string{cue, "export", "./" + bench.platform.name, "-e", "out.output"}},
				bench.runs, bench.aim)
		})
	}
}
