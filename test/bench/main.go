// Command bench measures the applier against a floor: a bare program that sends
// one concurrent server-side-apply request per object, waits by watch, and does
// nothing else. `make bench-cluster` runs it.
//
// The part cli is one graph, executed from outside; graphs are many that are
// created at once for pequod-applier, which runs beside the control plane with
// the rights that it is installed with; idle, reconciles and reactions are what it
// does when they are there.
//
// Both work on one control plane, which is started for them, in turn, each time
// in a new process and a new namespace; what counts are the ratios within a
// round. A round of many graphs has a control plane of its own. Requests are counted in a round of their own, in which they go through
// a proxy. The program starts itself again, with -run, for everything that is
// measured. It judges nothing: it prints the aims beside what it saw.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	_ "github.com/pequod-io/pequod/cli/earlygc" // as the command line has it
)

func main() {
	var (
		p       plan
		r       job
		counts  string
		profile string
	)
	flag.StringVar(&p.parts, "part", strings.Join(parts, ","), "what to measure, as a `list`")
	flag.IntVar(&p.rounds, "rounds", 7, "`number` of rounds")
	flag.StringVar(&p.cases, "cases", "pairs,stacks", "of the part cli, what to measure")
	flag.StringVar(&counts, "graphs", "100,500,1000", "how many graphs, as a `list`; the last is that of all parts but graphs")
	flag.IntVar(&p.graphRounds, "graph-rounds", 3, "`number` of rounds of the parts graphs and reconciles")
	flag.DurationVar(&p.idle, "idle", 2*time.Minute, "how long the applier is watched while it has nothing to do")
	flag.IntVar(&p.samples, "samples", 200, "`number` of samples of the part reactions")
	flag.DurationVar(&p.settle, "settle", time.Second, "`pause` between two runs, for the cluster to come to rest")
	flag.StringVar(&p.pequod, "pequod", "", "of the part cli, measure this `program`, as a whole process, not the applier within this one")
	flag.StringVar(&p.controller, "applier", "", "measure this `program`, not a pequod-applier that is built for it")
	flag.StringVar(&p.profiles, "profiles", "", "`directory` for profiles of the applier, which then runs within this program")
	flag.StringVar(&r.who, "run", "", "do one run as floor, applier or controller, and print what it took as JSON")
	flag.StringVar(&r.load, "case", "", "of a run")
	flag.IntVar(&r.graphs, "count", 0, "of a run, how many graphs")
	flag.StringVar(&r.verb, "verb", "", "of a run: create, again or delete")
	flag.StringVar(&r.namespace, "namespace", "", "of a run")
	flag.StringVar(&r.kubeconfig, "kubeconfig", "", "of a run")
	flag.StringVar(&r.metrics, "metrics", "", "of a run as controller, the address")
	flag.StringVar(&r.probes, "probes", "", "of a run as controller, the address")
	flag.StringVar(&profile, "cpuprofile", "", "of a run")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	switch {
	case r.who == byController:
		err = within(ctx, r, profile)
	case r.who != "":
		err = child(ctx, r, profile)
	default:
		if p.graphs, err = numbers(counts); err == nil {
			err = parent(ctx, p)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func numbers(list string) ([]int, error) {
	var all []int
	for _, text := range strings.Split(list, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("-graphs: %q is no number of graphs", text)
		}
		all = append(all, n)
	}
	return all, nil
}

// parent measures.
func parent(ctx context.Context, p plan) error {
	scratch, err := os.MkdirTemp("", "pequod-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	m := &measurement{plan: p, scratch: scratch, results: map[what][]pair{}, requests: map[what]map[string]int{}}
	return m.all(ctx)
}

// child does one run and prints what it took.
func child(ctx context.Context, r job, profile string) error {
	stop, err := startProfile(profile)
	if err != nil {
		return err
	}
	took, err := r.do(ctx)
	stop()
	if err != nil {
		return fmt.Errorf("%s: %w", r, err)
	}
	return json.NewEncoder(os.Stdout).Encode(took)
}
