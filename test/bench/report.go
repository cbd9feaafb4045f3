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

// subject identifies the workload and the verb that a pair of samples measures,
// for example "stacks create" or "100 graphs create".
type subject struct{ workload, verb string }

// row is a row of the table of ratios. Rows are printed in the order in which
// they were added.
type row struct {
	subject
	aim   string // for the ratio of the times; may be empty
	count int    // units that requests are divided by
	unit  string
}

// figure is a measured value without a floor, formatted for people. The aim is
// that of the design.
type figure struct{ name, value, aim string }

// report collects results and prints them as tables: ratios first, then figures.
// Rows, pairs and requests are added separately, because they come from different
// runs; their subject joins them.
type report struct {
	rows     []row
	pairs    map[subject][]pair
	requests map[subject]map[string]int // counts by verb
	figures  []figure
}

// newReport returns an empty report.
func newReport() report {
	return report{pairs: map[subject][]pair{}, requests: map[subject]map[string]int{}}
}

// addPair adds the samples of one round.
func (r *report) addPair(s subject, p pair) { r.pairs[s] = append(r.pairs[s], p) }

// addRequests sets the number of requests of the applier, by verb.
func (r *report) addRequests(s subject, counts map[string]int) { r.requests[s] = counts }

// addRow adds a row, which is printed if its subject has pairs.
func (r *report) addRow(added row) { r.rows = append(r.rows, added) }

// addFigure adds a figure and prints it to stderr at once, as progress.
func (r *report) addFigure(f figure) {
	r.figures = append(r.figures, f)
	fmt.Fprintf(os.Stderr, "%s: %s\n", f.name, f.value)
}

// print prints a row for each subject, with medians and the smallest and largest
// ratio, and then the figures.
func (r *report) print(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if len(r.rows) > 0 {
		fmt.Fprintln(w, "case\tfloor\tapplier\tratio\t(min–max)\taim\tCPU floor\tapplier\tCPU server\tapplier\tratio of CPU\tpeak MiB floor\tapplier\theap\trequests")
	}
	for _, row := range r.rows {
		r.printRow(w, row)
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

// printRow prints the row of one subject, or nothing if no round was completed.
//
// Ratios are computed for each round and only then reduced to their median. The
// quotient of the two median times would mix rounds, and so measure the noise of
// the machine. For example, the rounds 1 s : 2 s and 3 s : 3 s have the ratios 2
// and 1.
func (r *report) printRow(w io.Writer, row row) {
	pairs := r.pairs[row.subject]
	if len(pairs) == 0 {
		return
	}
	// The ratio of the times counts, and below that of the CPU time, for which
	// each contestant answers together with the control plane.
	ratios := sorted(pairs, func(p pair) float64 { return float64(p.applier.work) / float64(p.floor.work) })
	fmt.Fprintf(w, "%s %s\t%s\t%s\t%.2f\t(%.2f–%.2f)\t%s\t%s\t%s\t%s\t%s\t%.2f\t%.0f\t%.0f\t%s\t%s\n", row.workload, row.verb,
		seconds(pairs, func(p pair) time.Duration { return p.floor.work }),
		seconds(pairs, func(p pair) time.Duration { return p.applier.work }),
		median(ratios), ratios[0], ratios[len(ratios)-1], row.aim,
		seconds(pairs, func(p pair) time.Duration { return p.floor.cpu }),
		seconds(pairs, func(p pair) time.Duration { return p.applier.cpu }),
		seconds(pairs, func(p pair) time.Duration { return p.floor.serverCPU }),
		seconds(pairs, func(p pair) time.Duration { return p.applier.serverCPU }),
		median(sorted(pairs, func(p pair) float64 {
			return float64(p.applier.cpu+p.applier.serverCPU) / float64(p.floor.cpu+p.floor.serverCPU)
		})),
		median(sorted(pairs, func(p pair) float64 { return p.floor.peakMiB })),
		median(sorted(pairs, func(p pair) float64 { return p.applier.peakMiB })),
		heap(median(sorted(pairs, func(p pair) float64 { return p.applier.heapMiB }))),
		requests(r.requests[row.subject], row.count, row.unit))
}

// heap formats a heap size in MiB. An unknown one is empty: only the metrics of a
// running controller report it.
func heap(mib float64) string {
	if mib == 0 {
		return ""
	}
	return fmt.Sprintf("%.0f", mib)
}

// sorted returns one number of each pair, in increasing order, as median needs
// them.
func sorted(pairs []pair, number func(pair) float64) []float64 {
	var numbers []float64
	for _, p := range pairs {
		numbers = append(numbers, number(p))
	}
	slices.Sort(numbers)
	return numbers
}

// median returns the middle number, or the larger of the two middle ones. There
// must be at least one number.
func median(sorted []float64) float64 { return sorted[len(sorted)/2] }

// seconds formats the median of a duration.
func seconds(pairs []pair, duration func(pair) time.Duration) string {
	return fmt.Sprintf("%.2f s", median(sorted(pairs, func(p pair) float64 { return duration(p).Seconds() })))
}

// requests formats counts by verb with their sum, discovery left out, and the
// quotient per unit: "apply 120, discovery 3, watch 2 = 122, 1.02 per object".
//
// Discovery is left out of the sum because it does not grow with the objects.
func requests(counts map[string]int, units int, unit string) string {
	var parts []string
	for _, verb := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s %d", verb, counts[verb]))
	}
	sum := total(counts) - counts[discovery]
	return fmt.Sprintf("%s = %d, %.2f per %s", strings.Join(parts, ", "), sum, float64(sum)/float64(units), unit)
}
