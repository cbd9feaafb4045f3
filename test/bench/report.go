package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// row is a row of the table of ratios: the samples of one workload, and the
// requests of the applier by verb, which are counted in a separate run.
type row struct {
	name, aim string // the aim is for the ratio of the times; it may be empty
	count     int    // units that requests are divided by
	unit      string
	pairs     []pair
	requests  map[string]int
}

// figure is a measured value without a floor, formatted for people. The aim is
// that of the design.
type figure struct{ name, value, aim string }

// report collects results and prints them as tables: ratios first, then figures.
type report struct {
	rows    []*row
	figures []figure
}

// addRow adds a row to be filled in. It is printed if it has pairs.
func (r *report) addRow(name, aim string, count int, unit string) *row {
	added := &row{name: name, aim: aim, count: count, unit: unit}
	r.rows = append(r.rows, added)
	return added
}

// addFigure adds a figure and prints it to stderr at once, as progress.
func (r *report) addFigure(f figure) {
	r.figures = append(r.figures, f)
	fmt.Fprintf(os.Stderr, "%s: %s\n", f.name, f.value)
}

// print prints the rows, with medians and the smallest and largest ratio, and
// then the figures.
func (r *report) print(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if len(r.rows) > 0 {
		fmt.Fprintln(w, "case\tfloor\tapplier\tratio\t(min–max)\taim\tratio of CPU\tpeak MiB floor\tapplier\trequests")
	}
	for _, row := range r.rows {
		row.print(w)
	}
	_ = w.Flush() // stdout: a failure cannot be reported anywhere
	if len(r.figures) > 0 {
		fmt.Fprintln(w, "\nfigure\tmeasured\taim")
	}
	for _, f := range r.figures {
		fmt.Fprintf(w, "%s\t%s\t%s\n", f.name, f.value, f.aim)
	}
	_ = w.Flush()
}

// print prints a row, or nothing if no round was completed.
//
// Ratios are computed for each round and only then reduced to their median. The
// quotient of the two median times would mix rounds, and so measure the noise of
// the machine. For example, the rounds 1 s : 2 s and 3 s : 3 s have the ratios 2
// and 1. In the ratio of CPU, each contestant answers for the control plane too.
func (r *row) print(w io.Writer) {
	if len(r.pairs) == 0 {
		return
	}
	ratios := r.sorted(func(p pair) float64 { return float64(p.applier.work) / float64(p.floor.work) })
	seconds := func(duration func(pair) time.Duration) float64 {
		return median(r.sorted(func(p pair) float64 { return duration(p).Seconds() }))
	}
	fmt.Fprintf(w, "%s\t%.2f s\t%.2f s\t%.2f\t(%.2f–%.2f)\t%s\t%.2f\t%.0f\t%.0f\t%s\n", r.name,
		seconds(func(p pair) time.Duration { return p.floor.work }),
		seconds(func(p pair) time.Duration { return p.applier.work }),
		median(ratios), ratios[0], ratios[len(ratios)-1], r.aim,
		median(r.sorted(func(p pair) float64 {
			return float64(p.applier.cpu+p.applier.serverCPU) / float64(p.floor.cpu+p.floor.serverCPU)
		})),
		median(r.sorted(func(p pair) float64 { return p.floor.peakMiB })),
		median(r.sorted(func(p pair) float64 { return p.applier.peakMiB })),
		r.formatRequests())
}

// sorted returns one number of each pair, in increasing order, as median needs
// them.
func (r *row) sorted(number func(pair) float64) []float64 {
	var numbers []float64
	for _, p := range r.pairs {
		numbers = append(numbers, number(p))
	}
	slices.Sort(numbers)
	return numbers
}

// median returns the middle number, or the larger of the two middle ones. There
// must be at least one number.
func median(sorted []float64) float64 { return sorted[len(sorted)/2] }

// formatRequests formats the requests with their sum, discovery left out, and the
// quotient per unit: "apply 120, discovery 3, watch 2 = 122, 1.02 per object".
//
// Discovery is left out of the sum because it does not grow with the objects.
func (r *row) formatRequests() string {
	var parts []string
	for _, verb := range slices.Sorted(maps.Keys(r.requests)) {
		parts = append(parts, fmt.Sprintf("%s %d", verb, r.requests[verb]))
	}
	sum := total(r.requests) - r.requests[discovery]
	return fmt.Sprintf("%s = %d, %.2f per %s", strings.Join(parts, ", "), sum, float64(sum)/float64(r.count), r.unit)
}
