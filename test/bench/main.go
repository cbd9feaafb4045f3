// Command bench measures the applier against a floor: a bare program that sends
// one concurrent server-side-apply request per object, waits by watch, and does
// nothing else. `make bench-cluster` runs it.
//
// It has five parts:
//
//	cli     one graph, created from outside the cluster as `pequod apply` does
//	graphs  many graphs created at once for pequod-applier
//	idle    what pequod-applier uses while it has nothing to do
//	restart how long pequod-applier takes to find that nothing has changed
//	instances many instances created at once for the controllers of pequod-manager, and its restart
//
// Floor and applier run in turn on one control plane that the benchmark starts,
// each time in a new process and a new namespace. Only the ratios within a round
// are comparable, because machines are noisy. Requests are counted in a separate
// round, through a proxy, so that counting does not distort the times. Every
// round of the part graphs has a control plane of its own.
//
// The program starts itself again with -run for every process that it measures.
// Such a child prints the duration of its work; the parent adds the costs that
// only the operating system knows, such as CPU time.
//
// A short run, and the beginning of a row that it prints; the numbers are
// examples:
//
//	go run ./test/bench -part=cli -rounds=3
//	case    floor   applier  ratio  …
//	stacks  1.20 s  1.24 s   1.03   …
//
// The program judges nothing: it prints the aims of the design next to the
// results, and its exit code does not depend on them. docs/design.md explains how
// to read the results.
//
// Files:
//
//   - main.go has the flags and runs the parts: cli.go, graphs.go, idle.go (with reaction.go),
//     restart.go and instances.go. manager.go runs the controllers of pequod-manager.
//   - measurement.go runs processes and takes samples.
//   - job.go is one measured process, with floor.go and applier.go as the two
//     contestants, and workload.go and objects.go as what they create.
//   - controlplane.go, controller.go and profile.go start the programs that are
//     measured against each other.
//   - report.go prints the results.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
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
	"github.com/pequod-io/pequod/operator/worker/child"
)

// main parses the flags and either carries out the whole plan or, as a child
// process, does one job of it.
func main() {
	if len(os.Args) == 2 && os.Args[1] == "worker" { // a worker process of the part instances
		os.Exit(child.Serve(os.Stdin, os.Stdout))
	}
	p := plan{parts: []string{"cli", "graphs", "idle", "restart", "scale", "instances"}, graphs: []int{100, 500, 1000}}
	var run string
	flag.Func("part", "comma-separated `list` of the parts to measure: cli, graphs, idle, restart, scale, instances (default all)", func(list string) error {
		known := p.parts
		p.parts = strings.Split(list, ",")
		if slices.ContainsFunc(p.parts, func(part string) bool { return !slices.Contains(known, part) }) {
			return errors.New("known parts: " + strings.Join(known, ", "))
		}
		return nil
	})
	flag.Func("graphs", "comma-separated `list` of graph counts; the parts idle and restart use the last (default 100,500,1000)", func(list string) (err error) {
		p.graphs, err = parseCounts(list)
		return err
	})
	flag.IntVar(&p.rounds, "rounds", 7, "`number` of rounds of the part cli")
	flag.IntVar(&p.graphRounds, "graph-rounds", 3, "`number` of rounds of the part graphs")
	flag.DurationVar(&p.idle, "idle", 2*time.Minute, "how long the idle applier is observed")
	flag.StringVar(&p.profiles, "profiles", "", "write CPU and heap profiles of pequod-applier, which then runs inside this program, and CPU profiles of the part cli to this `directory`")
	flag.StringVar(&run, "run", "", "internal: do one job, given as JSON, and print its duration")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if run != "" {
		err = runChild(ctx, run)
	} else {
		err = measure(ctx, p)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// parseCounts parses the flag -graphs: "100,500" gives 100 and 500. The order is
// kept, because the part idle uses the last number.
func parseCounts(list string) ([]int, error) {
	var counts []int
	for _, text := range strings.Split(list, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q is not a positive number", text)
		}
		counts = append(counts, n)
	}
	return counts, nil
}

// runChild does one job and prints its duration in nanoseconds on stdout. The
// parent parses stdout, so nothing else may be printed there.
func runChild(ctx context.Context, text string) error {
	var j job
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		return err
	}
	if j.Contestant == controllerContestant {
		return runProfiledController(ctx, j)
	}
	if j.Contestant == managerContestant {
		return runManager(ctx, j)
	}
	work, err := j.runProfiled(ctx)
	if err != nil {
		return err
	}
	_, err = fmt.Println(int64(work))
	return err
}

// measure runs the selected parts of a plan and prints the results. A plan that
// fails half-way prints what it has measured so far, because a round can take
// minutes.
func measure(ctx context.Context, p plan) (err error) {
	scratch, err := os.MkdirTemp("", "pequod-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	m := &measurement{plan: p, scratch: scratch}
	// Deferred functions run in reverse order: the control plane stops first,
	// then the report is printed, and the scratch directory is removed last.
	defer m.report.print(os.Stdout)
	defer func() { err = cmp.Or(err, m.stopControlPlane()) }()
	if slices.Contains(p.parts, "cli") {
		if err := m.measureCLI(ctx); err != nil {
			return err
		}
	}
	// The programs are built only for the parts that run them.
	if !slices.ContainsFunc(p.parts, func(part string) bool { return part != "cli" }) {
		return nil
	}
	if err := m.buildPrograms(ctx); err != nil {
		return err
	}
	if slices.Contains(p.parts, "graphs") {
		if err := m.measureGraphs(ctx); err != nil {
			return err
		}
	}
	if slices.Contains(p.parts, "idle") {
		if err := m.measureIdle(ctx); err != nil {
			return err
		}
	}
	if slices.Contains(p.parts, "restart") {
		if err := m.measureRestart(ctx); err != nil {
			return err
		}
	}
	if slices.Contains(p.parts, "scale") {
		if err := m.measureScale(ctx); err != nil {
			return err
		}
	}
	if slices.Contains(p.parts, "instances") {
		return m.measureInstances(ctx)
	}
	return nil
}
