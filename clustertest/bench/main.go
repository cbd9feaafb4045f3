// Command bench measures the applier against a floor: a bare program that sends
// one concurrent server-side-apply request per object, waits by watch, and does
// nothing else. `make bench-cluster` runs it.
//
// Both work on one control plane, which is started for them, in turn, each time
// in a new process and a new namespace; what counts are the ratios within a
// round. Requests are counted in a round of their own, in which they go through
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
	"syscall"
	"time"

	_ "github.com/pequod-io/pequod/cli/earlygc" // as the command line has it
	"github.com/pequod-io/pequod/clustertest/server"
)

func main() {
	var (
		p       plan
		r       job
		profile string
	)
	flag.IntVar(&p.rounds, "rounds", 7, "`number` of rounds")
	flag.StringVar(&p.cases, "cases", "pairs,stacks", "what to measure")
	flag.DurationVar(&p.settle, "settle", time.Second, "`pause` between two runs, for the cluster to come to rest")
	flag.StringVar(&p.pequod, "pequod", "", "measure this `program`, as a whole process, not the applier within this one")
	flag.StringVar(&p.profiles, "profiles", "", "`directory` for CPU profiles of the applier")
	flag.StringVar(&r.who, "run", "", "do one run as floor or applier, and print what it took as JSON")
	flag.StringVar(&r.load, "case", "", "of a run")
	flag.StringVar(&r.verb, "verb", "", "of a run: create, again or delete")
	flag.StringVar(&r.namespace, "namespace", "", "of a run")
	flag.StringVar(&r.kubeconfig, "kubeconfig", "", "of a run")
	flag.StringVar(&profile, "cpuprofile", "", "of a run")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if r.who != "" {
		err = child(ctx, r, profile)
	} else {
		err = parent(ctx, p)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// parent starts a control plane and measures on it.
func parent(ctx context.Context, p plan) error {
	s, err := server.Start(ctx, server.Options{Log: os.Stderr})
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "pequod-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	m, err := newMeasurement(s.Kubeconfig(), scratch, s.Pid(), p)
	if err == nil {
		err = m.all(ctx)
	}
	if stopped := s.Stop(); err == nil {
		err = stopped
	}
	return err
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
