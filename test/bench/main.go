// Command bench measures the applier against a floor: a bare program that sends
// one concurrent server-side-apply request per object, waits by watch, and does
// nothing else. `make bench-cluster` runs it.
//
// It has three parts:
//
//	cli     one graph, executed from outside the cluster as `pequod apply` does
//	graphs  many graphs created at once for pequod-applier
//	idle    what pequod-applier uses while it has nothing to do
//
// Floor and applier run in turn on one control plane that the benchmark starts,
// each time in a new process and a new namespace. Only the ratios within a round
// are comparable, because machines are noisy. Requests are counted in a separate
// round, through a proxy, so that counting does not distort the times. Every
// round of the part graphs has a control plane of its own.
//
// The program starts itself again with -run for every process that it measures.
// Such a child prints one JSON document, a [runResult]; the parent adds the costs
// that only the operating system knows, such as CPU time.
//
// A short run, and the beginning of a row that it prints; the numbers are
// examples:
//
//	go run ./test/bench -part=cli -cases=stacks -rounds=3
//	case           floor   applier  ratio  …
//	stacks create  1.20 s  1.24 s   1.03   …
//
// The program judges nothing: it prints the aims of the design next to the
// results, and its exit code does not depend on them. docs/design.md explains how
// to read the results.
//
// Files:
//
//   - main.go has the flags and runs the parts: cli.go, graphs.go and idle.go.
//   - measurement.go runs processes and takes samples; process.go and metrics.go
//     read the costs of a process, and requests.go counts requests.
//   - job.go is one measured process, with floor.go, floor_watch.go and applier.go
//     as the two contestants, and workload.go and manygraphs.go as the objects.
//   - controlplane.go, install.go, controller.go and profile.go start the programs
//     that are measured against each other.
//   - report.go prints the results.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	_ "github.com/pequod-io/pequod/cli/earlygc" // the garbage collector setting of the command line
)

// parts are the parts of the benchmark, in the order in which they run. The order
// matters for graphs and idle: both need the applier's program, which is built
// between cli and graphs.
var parts = []string{"cli", "graphs", "idle"}

// main parses the flags and does one of three things: it runs the applier for
// profiles, it does one run as a child process, or it carries out the whole plan.
// Flags marked "internal" are set by [measurement.command] and
// [measurement.controllerCommand] only.
func main() {
	var (
		p plan
		j job
		// counts is the unparsed flag -graphs.
		counts string
		// profile is the file of a child's CPU profile; empty means no profile.
		profile string
	)
	flag.StringVar(&p.parts, "part", strings.Join(parts, ","), "comma-separated `list` of the parts to measure")
	flag.IntVar(&p.rounds, "rounds", 7, "`number` of rounds of the part cli")
	flag.StringVar(&p.cases, "cases", "pairs,stacks", "comma-separated `list` of the cases of the part cli")
	flag.StringVar(&counts, "graphs", "100,500,1000", "comma-separated `list` of graph counts; the part idle uses the last")
	flag.IntVar(&p.graphRounds, "graph-rounds", 3, "`number` of rounds of the part graphs")
	flag.DurationVar(&p.idle, "idle", 2*time.Minute, "how long the idle applier is observed")
	flag.DurationVar(&p.settle, "settle", time.Second, "`pause` between two runs, so that the cluster can settle")
	flag.StringVar(&p.pequod, "pequod", "", "in the part cli, measure this `program` as a whole process instead of the library")
	flag.StringVar(&p.controller, "applier", "", "measure this `program` instead of a pequod-applier built from this checkout")
	flag.StringVar(&p.profiles, "profiles", "", "write CPU and heap profiles to this `directory`; pequod-applier then runs inside this program")
	flag.StringVar(&j.contestant, "run", "", "internal: do one run as floor, applier or controller, and print the result as JSON")
	flag.StringVar(&j.workload, "case", "", "internal: workload of a run")
	flag.IntVar(&j.graphs, "count", 0, "internal: number of graphs of a run")
	flag.StringVar(&j.verb, "verb", "", "internal: create, again or delete")
	flag.StringVar(&j.namespace, "namespace", "", "internal: namespace of a run")
	flag.StringVar(&j.kubeconfig, "kubeconfig", "", "internal: kubeconfig of a run")
	flag.StringVar(&j.metrics, "metrics", "", "internal: metrics address of the controller")
	flag.StringVar(&j.probes, "probes", "", "internal: probe address of the controller")
	flag.StringVar(&profile, "cpuprofile", "", "internal: profile file of a run")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	switch {
	case j.contestant == controllerContestant:
		err = runProfiledController(ctx, j, profile)
	case j.contestant != "":
		err = runChild(ctx, j, profile)
	default:
		if p.graphs, err = graphCounts(counts); err == nil {
			err = measure(ctx, p)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// graphCounts parses the flag -graphs: "100,500" gives 100 and 500. The order is
// kept, because the part idle uses the last number.
func graphCounts(list string) ([]int, error) {
	var counts []int
	for _, text := range strings.Split(list, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("-graphs: %q is not a positive number", text)
		}
		counts = append(counts, n)
	}
	return counts, nil
}

// runChild does one run and prints its duration as JSON on stdout. The parent
// reads stdout as that document, so nothing else may be printed there.
func runChild(ctx context.Context, j job, profile string) error {
	stop, err := startProfile(profile)
	if err != nil {
		return err
	}
	result, err := j.run(ctx)
	stop()
	if err != nil {
		return fmt.Errorf("%s: %w", j, err)
	}
	return json.NewEncoder(os.Stdout).Encode(result)
}

// measure runs the selected parts of a plan and prints the results. A plan that
// fails half-way prints what it has measured so far, because a round can take
// minutes.
//
// The applier's program is built only for the parts that run it as a controller.
func measure(ctx context.Context, p plan) (err error) {
	selected := map[string]bool{}
	// Unknown names are refused before anything is started.
	for _, part := range strings.Split(p.parts, ",") {
		if !slices.Contains(parts, part) {
			return fmt.Errorf("unknown part %q; known: %s", part, strings.Join(parts, ", "))
		}
		selected[part] = true
	}
	scratch, err := os.MkdirTemp("", "pequod-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	m := &measurement{plan: p, scratch: scratch, report: newReport()}
	// Deferred functions run in reverse order: the control plane stops first,
	// then the report is printed, and the scratch directory goes last.
	defer m.report.print(os.Stdout)
	defer func() { err = cmp.Or(err, m.stopControlPlane()) }()
	if selected["cli"] {
		if err := m.measureCLI(ctx); err != nil {
			return err
		}
	}
	if !selected["graphs"] && !selected["idle"] {
		return nil
	}
	if err := m.buildController(ctx); err != nil {
		return err
	}
	if selected["graphs"] {
		if err := m.measureGraphs(ctx); err != nil {
			return err
		}
	}
	if selected["idle"] {
		return m.measureIdle(ctx)
	}
	return nil
}
