package main

import (
	"regexp"
	"strings"
)

var (
	// number matches a line with the number of iterations of a benchmark, and with results.
	number = regexp.MustCompile(`^Benchmark\S*\s+\d+\s+\S+\s`)
	// processors is the suffix of a benchmark's name.
	processors = regexp.MustCompile(`-\d+$`)
	// gap separates the columns of tables of make bench-cluster.
	gap = regexp.MustCompile(` {2,}`)
)

// parse returns the processor and the results in the output of benchmarks: lines of Go such as
// "BenchmarkX-2  1  5 ns/op  1.3 wall/aim", and the two tables of make bench-cluster.
func parse(output string) (cpu string, results []Result) {
	pkg, table := "", ""
	for line := range strings.Lines(output) {
		line = strings.TrimRight(line, " \n")
		words, cells := strings.Fields(line), gap.Split(line, -1)
		switch {
		case len(words) == 0:
			table = ""
		case strings.HasPrefix(line, "cpu: "):
			cpu = strings.TrimPrefix(line, "cpu: ")
		case strings.HasPrefix(line, "pkg: "):
			pkg = strings.TrimPrefix(line, "pkg: github.com/pequod-io/pequod/")
		case number.MatchString(line) && len(words)%2 == 0:
			name := pkg + " " + strings.TrimPrefix(processors.ReplaceAllString(words[0], ""), "Benchmark")
			for i := 2; i < len(words); i += 2 {
				results = append(results, Result{Benchmark: name, Unit: words[i+1], Value: words[i]})
			}
		case cells[0] == "case" || cells[0] == "figure":
			table = cells[0]
		case table == "case" && len(cells) >= 5:
			for i, unit := range []string{"floor", "applier", "ratio"} {
				results = append(results, Result{Benchmark: cells[0], Unit: unit, Value: cells[i+1]})
			}
			results = append(results, Result{Benchmark: cells[0], Unit: "requests", Value: cells[len(cells)-1]})
		case table == "figure" && len(cells) >= 2:
			results = append(results, Result{Benchmark: cells[0], Unit: "measured", Value: cells[1]})
		}
	}
	return cpu, results
}
