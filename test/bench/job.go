package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// The verbs of a job: create the objects, apply them again unchanged, delete them.
const (
	// create and again are the same requests; only the state of the cluster
	// differs.
	create = "create"
	again  = "again"
	remove = "delete"
)

// verbs are the verbs in the order of a round of the part cli: each one needs the
// state that the verb before it leaves.
var verbs = []string{create, again, remove}

// The contestants that do a job.
const (
	floorContestant      = "floor"
	applierContestant    = "applier"
	controllerContestant = "controller" // pequod-applier inside this program, for profiles
)

// job is one measured process. The parent passes its fields as the internal flags
// to the child.
type job struct {
	// workload is a key of workloads, or manyGraphs.
	contestant, workload, verb, namespace, kubeconfig string

	// graphs is the number of graphs of the workload manyGraphs; 0 otherwise.
	graphs int
	// metrics and probes are the addresses at which a profiled controller serves.
	metrics, probes string
}

// String describes the job in error messages.
func (j job) String() string { return j.contestant + " " + j.verb + " " + j.workload }

// forController reports whether a running pequod-applier executes the job. The
// process of the job then only creates the graphs and waits.
func (j job) forController() bool { return j.workload == manyGraphs }

// runResult is the JSON document that a child process prints.
type runResult struct {
	// Work is the duration in nanoseconds, without the start of the process.
	Work time.Duration
}

// run does the job and returns how long it took. Preparations, such as encoding
// the objects, are not timed; connecting to the API server is.
func (j job) run(ctx context.Context) (runResult, error) {
	config, err := clientcmd.BuildConfigFromFlags("", j.kubeconfig)
	if err != nil {
		return runResult{}, err
	}
	work, err := j.prepare(config)
	if err != nil {
		return runResult{}, err
	}
	start := time.Now()
	err = work(ctx)
	return runResult{time.Since(start)}, err
}

// prepare returns the timed part of a job.
//
// A job for a controller is the floor's work for both contestants: the floor
// creates graphs and objects, and for the applier it creates only the graphs and
// waits until they are ready.
func (j job) prepare(config *rest.Config) (func(context.Context) error, error) {
	load, known := workloads[j.workload]
	switch {
	case j.forController():
		levels, err := graphLevels(j.namespace, j.graphs, j.contestant == applierContestant)
		if err != nil {
			return nil, err
		}
		return j.prepareFloor(config, levels)
	case !known:
		return nil, fmt.Errorf("unknown case %q", j.workload)
	case j.contestant == floorContestant:
		return j.prepareFloor(config, load.objects(j.namespace))
	}
	return prepareApplier(load, j.namespace, j.verb, config)
}

// prepareFloor returns the timed part of a job that sends bare requests. Creating
// and applying again do not differ for the floor.
func (j job) prepareFloor(config *rest.Config, levels [][]object) (func(context.Context) error, error) {
	f, err := newFloor(config, levels, j.namespace)
	if err != nil {
		return nil, err
	}
	if j.verb == remove {
		return f.remove, nil
	}
	return f.apply, nil
}
