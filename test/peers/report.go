package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"
)

// stepOf names a step: create, apply again, change one, remove one, delete.
type stepOf string

// stepNames are the steps in their order.
var stepNames = []string{"create", "apply again", "change one", "remove one", "delete"}

// sample has the costs of one step in one round.
type sample struct {
	round     int
	wall, cpu time.Duration
}

// atRest is what a controller uses while it has nothing to do.
type atRest struct {
	requests int
	cpu      time.Duration
}

// results has everything that was measured of one peer.
type results struct {
	name     string // of the peer
	version  string
	skipped  string // the reason; empty if it was measured
	samples  map[stepOf][]sample
	peakMiB  []float64
	requests map[stepOf]int
	left     int
	rest     *atRest // nil for command lines
	drift    string
}

// report has the results of all peers.
type report struct {
	peers   []*results
	rounds  int
	machine string
	load    string
	began   time.Time
	objects int
	rest    time.Duration
}

// The generated part of the document is between these lines.
const (
	beginMark = "<!-- Written by `make peers`. -->"
	endMark   = "<!-- End of the figures. -->"
)

// describe records the machine.
func (r *report) describe() {
	r.began = time.Now()
	r.machine = fmt.Sprintf("%d cores, %s/%s, %s", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version())
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if name, model, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				r.machine = strings.TrimSpace(model) + ", " + r.machine
				break
			}
		}
	}
	r.load = load()
}

// load returns the average load of the last minute, or "unknown" on systems without /proc.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Fields(string(text))[0]
}

// write replaces the generated part of a document.
func (r *report) write(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text, err = replace(text, r.markdown(load()))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, text, 0o644)
}

// replace replaces what is between the marks of a document.
func replace(text []byte, part string) ([]byte, error) {
	before, rest, found := bytes.Cut(text, []byte(beginMark+"\n"))
	_, after, ended := bytes.Cut(rest, []byte(endMark))
	if !found || !ended {
		return nil, errors.New("no lines " + beginMark + " and " + endMark)
	}
	return slices.Concat(before, []byte(beginMark+"\n"+part+endMark), after), nil
}

// markdown returns the tables. loadNow is the load at the end.
func (r *report) markdown(loadNow string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%d objects, %s, medians of %d %s, on %s. The load was %s at the beginning and %s at\nthe end.\n",
		r.objects, r.began.UTC().Format("2 January 2006"), r.rounds, plural(r.rounds, "round"), r.machine, r.load, loadNow)
	var reference *results
	if len(r.peers) > 0 {
		reference = r.peers[0]
	}
	r.table(&b, "Seconds until everything is applied and ready, or gone, and the ratio to kubectl", func(p *results, s stepOf) string {
		return ratio(p, reference, s, func(c sample) time.Duration { return c.wall })
	})
	r.table(&b, "CPU seconds of the peer's processes, and the ratio to kubectl", func(p *results, s stepOf) string {
		return ratio(p, reference, s, func(c sample) time.Duration { return c.cpu })
	})
	r.table(&b, "Requests to the API server", func(p *results, s stepOf) string {
		if n, ok := p.requests[s]; ok {
			return fmt.Sprint(n)
		}
		return "–"
	})
	fmt.Fprintf(&b, "\nMemory, remains, rest and drift:\n\n| peer | version | peak memory | objects left | requests in %s of rest | CPU in %[1]s of rest | drift is corrected after |\n|---|---|---|---|---|---|---|\n", r.rest)
	for _, p := range r.measured() {
		requests, cpu := "–", "–"
		if p.rest != nil {
			requests, cpu = fmt.Sprint(p.rest.requests), fmt.Sprintf("%.2f s", p.rest.cpu.Seconds())
		}
		fmt.Fprintf(&b, "| %s | %s | %.0f MiB | %d | %s | %s | %s |\n", p.name, p.version, median(p.peakMiB), p.left, requests, cpu, cmp.Or(p.drift, "–"))
	}
	first := true
	for _, p := range r.peers {
		if p.skipped == "" {
			continue
		}
		if first {
			b.WriteString("\nNot measured:\n\n")
			first = false
		}
		fmt.Fprintf(&b, "- %s: %s\n", p.name, p.skipped)
	}
	b.WriteString("\n")
	return b.String()
}

// measured returns the results that aren't skipped.
func (r *report) measured() []*results {
	return slices.DeleteFunc(slices.Clone(r.peers), func(p *results) bool { return p.skipped != "" || len(p.samples) == 0 })
}

// table writes a table with a row for each peer and a column for each step.
func (r *report) table(b *strings.Builder, title string, cell func(*results, stepOf) string) {
	fmt.Fprintf(b, "\n%s:\n\n| peer | %s |\n|---%s|\n", title, strings.Join(stepNames, " | "), strings.Repeat("|---", len(stepNames)))
	for _, p := range r.measured() {
		fmt.Fprintf(b, "| %s ", p.name)
		for _, s := range stepNames {
			fmt.Fprintf(b, "| %s ", cell(p, stepOf(s)))
		}
		b.WriteString("|\n")
	}
}

// ratio returns the median of a cost, and the median of its ratios to the reference in the same round.
func ratio(p, reference *results, s stepOf, cost func(sample) time.Duration) string {
	if len(p.samples[s]) == 0 {
		return "–"
	}
	var costs, ratios []float64
	for _, c := range p.samples[s] {
		costs = append(costs, cost(c).Seconds())
		for _, r := range reference.samples[s] {
			if of := cost(r); r.round == c.round && of > 0 {
				ratios = append(ratios, cost(c).Seconds()/of.Seconds())
			}
		}
	}
	if len(ratios) == 0 {
		return fmt.Sprintf("%.2f", median(costs))
	}
	return fmt.Sprintf("%.2f (%.2f×)", median(costs), median(ratios))
}

// median returns the median of values, or 0 if there are none. Of an even number it is the larger of
// the two in the middle.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	values = slices.Sorted(slices.Values(values))
	return values[len(values)/2]
}

// plural returns a noun for n things.
func plural(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}

// gitOutput runs git in this checkout and returns the first line of its stdout.
func gitOutput(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "git", args...).Output()
	line, _, _ := strings.Cut(string(out), "\n")
	return line, err
}
