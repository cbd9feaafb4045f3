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
	byFloor      = "floor"
	byApplier    = "applier"
	byController = "controller" // the applier in the cluster, within this process
)

// job is one run of what is measured.
type job struct {
	who, load, verb, namespace, kubeconfig string
	graphs                                 int    // of the load that is many
	metrics, probes                        string // of the applier within this process
}

func (j job) String() string { return j.who + " " + j.verb + " " + j.load }

// many says whether the applier of the job is pequod-applier, which runs already:
// the process of the job only makes the graphs.
func (j job) many() bool { return j.load == many }

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
	work, err := j.prepare(config)
	if err != nil {
		return took{}, err
	}
	start := time.Now()
	err = work(ctx)
	return took{time.Since(start)}, err
}

// work is what is timed; what is prepared before it isn't.
type work func(context.Context) error

func (j job) prepare(config *rest.Config) (work, error) {
	load, known := loads[j.load]
	switch {
	case j.many():
		levels, err := j.levels()
		if err != nil {
			return nil, err
		}
		return j.floor(config, levels)
	case !known:
		return nil, fmt.Errorf("unknown case %q", j.load)
	case j.who == byFloor:
		return j.floor(config, load.objects(j.namespace))
	}
	return load.applier(j, config)
}

func (j job) floor(config *rest.Config, levels [][]object) (work, error) {
	f, err := newFloor(config, levels, j.namespace)
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
