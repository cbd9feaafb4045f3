package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// print prints a row for each load and verb: medians, and of the ratios also
// the least and the largest.
func (m *measurement) print(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "case\tfloor\tapplier\tratio\t(min–max)\taim\tCPU floor\tapplier\tCPU server\tapplier\tratio of CPU\tpeak MiB floor\tapplier\trequests")
	for _, name := range strings.Split(m.cases, ",") {
		for _, verb := range []string{create, again, remove} {
			row := what{name, verb}
			pairs := m.results[row]
			if len(pairs) == 0 {
				continue
			}
			ratios := of(pairs, func(p pair) float64 { return float64(p.applier.work) / float64(p.floor.work) })
			fmt.Fprintf(w, "%s %s\t%s\t%s\t%.2f\t(%.2f–%.2f)\t%s\t%s\t%s\t%s\t%s\t%.2f\t%.0f\t%.0f\t%s\n", name, verb,
				duration(pairs, func(p pair) time.Duration { return p.floor.work }),
				duration(pairs, func(p pair) time.Duration { return p.applier.work }),
				median(ratios), ratios[0], ratios[len(ratios)-1], loads[name].aims[verb],
				duration(pairs, func(p pair) time.Duration { return p.floor.cpu }),
				duration(pairs, func(p pair) time.Duration { return p.applier.cpu }),
				duration(pairs, func(p pair) time.Duration { return p.floor.server }),
				duration(pairs, func(p pair) time.Duration { return p.applier.server }),
				median(of(pairs, func(p pair) float64 {
					return float64(p.applier.cpu+p.applier.server) / float64(p.floor.cpu+p.floor.server)
				})),
				median(of(pairs, func(p pair) float64 { return p.floor.peakMiB })),
				median(of(pairs, func(p pair) float64 { return p.applier.peakMiB })),
				requests(m.requests[row], loads[name].count))
		}
	}
	_ = w.Flush() // to standard output, where there is nothing left to be said
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

// requests lists counts by verb, and how many there are for each object.
func requests(counts map[string]int, objects int) string {
	var parts []string
	sum := 0
	for _, verb := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s %d", verb, counts[verb]))
		if verb != discovery {
			sum += counts[verb]
		}
	}
	return fmt.Sprintf("%s = %d, %.2f each", strings.Join(parts, ", "), sum, float64(sum)/float64(objects))
}
