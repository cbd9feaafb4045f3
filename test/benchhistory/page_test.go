package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const output = `goos: linux
goarch: amd64
pkg: github.com/pequod-io/pequod/test/bench
cpu: Example | CPU
BenchmarkProcess/render-2         	       1	         1.79 cpu/aim	       120 ms
BenchmarkProcess/broken-2         	--- FAIL: BenchmarkProcess/broken
PASS
ok  	github.com/pequod-io/pequod/test/bench	3.1s
case        floor   applier  ratio  (min–max)    aim  ratio of CPU  peak MiB floor  applier  requests
apply 400   1.00 s  1.03 s   1.03   (1.01–1.05)  1.05  1.2           30              40       apply 417 = 417, 1.04 per object

figure       measured  aim
idle for 2m  0.14 s    0.1 s
`

// TestParse checks the results in the output of both benchmarks.
func TestParse(t *testing.T) {
	cpu, results := parse(output)
	want := []Result{
		{"test/bench Process/render", "cpu/aim", "1.79"}, {"test/bench Process/render", "ms", "120"},
		{"apply 400", "floor", "1.00 s"}, {"apply 400", "applier", "1.03 s"}, {"apply 400", "ratio", "1.03"},
		{"apply 400", "requests", "apply 417 = 417, 1.04 per object"}, {"idle for 2m", "measured", "0.14 s"},
	}
	if diff := cmp.Diff(want, results); diff != "" || cpu != "Example | CPU" {
		t.Errorf("CPU %q, results (-want +got):\n%s", cpu, diff)
	}
}

// TestRun adds a run to a history, and nothing if the command fails or has no results.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	history, page := filepath.Join(dir, "h.json"), filepath.Join(dir, "p.md")
	for _, test := range []struct {
		script, want string
	}{
		{"echo 'BenchmarkX-2 1 5 ms'; exit 3", "exit status 3"}, {"echo PASS", "prints no results"}, {"echo 'BenchmarkX-2 1 5 ms'", ""}, {"echo 'BenchmarkX-2 1 6 ms'", ""},
	} {
		err := run(history, page, []string{"sh", "-c", test.script})
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v, want %q", test.script, err, test.want)
		}
	}
	runs, err := read(history)
	if err != nil || len(runs) != 2 || runs[1].Cores == 0 || runs[1].Commit == "" || len(runs[1].Date) != 10 {
		t.Errorf("%+v, %v", runs, err)
	}
	if text, err := os.ReadFile(page); err != nil || !strings.HasSuffix(string(text), "|---|---|---|\n|  | 2 | 6 |\n|  | 1 | 5 |\n") {
		t.Errorf("%s, %v", text, err)
	}
}

// TestPage compares the page of a history with two runs, one of them on a shared machine.
func TestPage(t *testing.T) {
	runs := []Run{
		{"2026-11-26", "abc", "Example | CPU", 2, "go1.26", "0.10", []Result{{"x A/10", "ms", "1"}, {"x A/9", "ms", "2"}, {"b", "ms", "2"}}},
		{"2026-11-27", "def", "", 2, "go1.26", "16.2", []Result{{"x A/10", "ms", "3"}, {"x A/10", "cpu/aim", "1.5"}}},
	}
	want := `| 2 | 2026-11-27 | def | unknown, 2 cores, go1.26 | 16.2, shared |
| 1 | 2026-11-26 | abc | Example \| CPU, 2 cores, go1.26 | 0.10 |

## Results

### b

| part | run | ms |
|---|---|---|
|  | 1 | 2 |

### x A

| part | run | ms | cpu/aim |
|---|---|---|---|
| 10 | 2 | 3 | 1.5 |
| 10 | 1 | 1 |  |
| 9 | 1 | 2 |  |
`
	if diff := cmp.Diff(want, strings.TrimPrefix(pageOf(runs), header)); diff != "" {
		t.Errorf("page (-want +got):\n%s", diff)
	}
}

// TestPageIsGenerated checks that docs/benchmarks.md is the page of its history, and that the results are
// of commits that aren't changed.
func TestPageIsGenerated(t *testing.T) {
	docs := filepath.Join("..", "..", "docs")
	runs, err := read(filepath.Join(docs, "benchmarks.json"))
	if err != nil || len(runs) == 0 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	page, err := os.ReadFile(filepath.Join(docs, "benchmarks.md"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(pageOf(runs), string(page)); diff != "" {
		t.Errorf("go run ./test/benchhistory docs/benchmarks.json docs/benchmarks.md (-want +got):\n%s", diff)
	}
	for _, r := range runs {
		if strings.HasSuffix(r.Commit, "-dirty") {
			t.Errorf("the run of %s is of changed files", r.Date)
		}
	}
}
