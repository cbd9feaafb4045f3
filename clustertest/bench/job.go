package main

import (
	"context"
	"fmt"
	"os"
	"runtime/pprof"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// The verbs of a job: make the objects, do so again, and remove them.
const (
	create = "create"
	again  = "again"
	remove = "delete"
)

// Who does a job.
const (
	byFloor   = "floor"
	byApplier = "applier"
)

// job is one run of what is measured.
type job struct {
	who, load, verb, namespace, kubeconfig string
}

func (j job) String() string { return j.who + " " + j.verb + " " + j.load }

// took is what a run says of itself.
type took struct {
	// Work is the time without the start of the process.
	Work time.Duration
}

func (j job) do(ctx context.Context) (took, error) {
	config, err := clientcmd.BuildConfigFromFlags("", j.kubeconfig)
	if err != nil {
		return took{}, err
	}
	load, ok := loads[j.load]
	if !ok {
		return took{}, fmt.Errorf("unknown case %q", j.load)
	}
	run := load.applier
	if j.who == byFloor {
		run = load.floor
	}
	work, err := run(j, config)
	if err != nil {
		return took{}, err
	}
	start := time.Now()
	err = work(ctx)
	return took{time.Since(start)}, err
}

// work is what is timed; what is prepared before it isn't.
type work func(context.Context) error

func (l load) floor(j job, config *rest.Config) (work, error) {
	f, err := newFloor(config, l.objects(j.namespace), j.namespace)
	if err != nil {
		return nil, err
	}
	if j.verb == remove {
		return f.remove, nil
	}
	return f.apply, nil
}

func startProfile(path string) (stop func(), err error) {
	if path == "" {
		return func() {}, nil
	}
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return nil, err
	}
	return pprof.StopCPUProfile, nil
}
