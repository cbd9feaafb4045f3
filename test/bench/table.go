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

// row is a row of the table of ratios.
type row struct {
	what
	aim   string // of the ratio
	count int
	unit  string // that requests are counted by
}

// figure is a row of the table of what is measured without a floor.
type figure struct{ what, value, aim string }

func (m *measurement) figure(what, value, aim string) {
	m.figures = append(m.figures, figure{what, value, aim})
	fmt.Fprintf(os.Stderr, "%s: %s\n", what, value)
}

// print prints a row for each load and verb: medians, and of the ratios also
// the least and the largest. Then it prints the figures.
func (m *measurement) print(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if len(m.rows) > 0 {
		fmt.Fprintln(w, "case\tfloor\tapplier\tratio\t(min–max)\taim\tCPU floor\tapplier\tCPU server\tapplier\tratio of CPU\tpeak MiB floor\tapplier\theap\trequests")
	}
	for _, row := range m.rows {
		m.printRow(w, row)
	}
	_ = w.Flush() // to standard output, where there is nothing left to be said
	if len(m.figures) > 0 {
		fmt.Fprintln(w, "\nwhat\tmeasured\taim")
	}
	for _, f := range m.figures {
		fmt.Fprintf(w, "%s\t%s\t%s\n", f.what, f.value, f.aim)
	}
	_ = w.Flush()
}

func (m *measurement) printRow(w io.Writer, row row) {
	pairs := m.results[row.what]
	if len(pairs) == 0 {
		return
	}
	ratios := of(pairs, func(p pair) float64 { return float64(p.applier.work) / float64(p.floor.work) })
	fmt.Fprintf(w, "%s %s\t%s\t%s\t%.2f\t(%.2f–%.2f)\t%s\t%s\t%s\t%s\t%s\t%.2f\t%.0f\t%.0f\t%s\t%s\n", row.load, row.verb,
		duration(pairs, func(p pair) time.Duration { return p.floor.work }),
		duration(pairs, func(p pair) time.Duration { return p.applier.work }),
		median(ratios), ratios[0], ratios[len(ratios)-1], row.aim,
		duration(pairs, func(p pair) time.Duration { return p.floor.cpu }),
		duration(pairs, func(p pair) time.Duration { return p.applier.cpu }),
		duration(pairs, func(p pair) time.Duration { return p.floor.server }),
		duration(pairs, func(p pair) time.Duration { return p.applier.server }),
		median(of(pairs, func(p pair) float64 {
			return float64(p.applier.cpu+p.applier.server) / float64(p.floor.cpu+p.floor.server)
		})),
		median(of(pairs, func(p pair) float64 { return p.floor.peakMiB })),
		median(of(pairs, func(p pair) float64 { return p.applier.peakMiB })),
		heap(median(of(pairs, func(p pair) float64 { return p.applier.heapMiB }))),
		requests(m.requests[row.what], row.count, row.unit))
}

// heap is empty where it isn't known.
func heap(mib float64) string {
	if mib == 0 {
		return ""
	}
	return fmt.Sprintf("%.0f", mib)
}

// of takes a number from each pair, sorted.
func of(pairs []pair, number func(pair) float64) []float64 {
	var numbers []float64
	for _, p := range pairs {
		numbers = append(numbers, number(p))
	}
	slices.Sort(numbers)
	return numbers
}

func median(sorted []float64) float64 { return sorted[len(sorted)/2] }

func duration(pairs []pair, took func(pair) time.Duration) string {
	m := median(of(pairs, func(p pair) float64 { return took(p).Seconds() }))
	return fmt.Sprintf("%.2f s", m)
}

// requests lists counts by verb, and how many there are for each of the units.
func requests(counts map[string]int, units int, unit string) string {
	var parts []string
	sum := 0
	for _, verb := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s %d", verb, counts[verb]))
		if verb != discovery {
			sum += counts[verb]
		}
	}
	return fmt.Sprintf("%s = %d, %.2f for each %s", strings.Join(parts, ", "), sum, float64(sum)/float64(units), unit)
}
