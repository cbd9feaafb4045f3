package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// The contestants that do a job.
const (
	floorContestant      = "floor"
	applierContestant    = "applier"
	controllerContestant = "controller" // pequod-applier inside this program, for profiles
	managerContestant    = "manager"    // the controllers of pequod-manager
)

// job is one measured process: a contestant creates objects in a namespace and
// waits until they are ready. The parent passes it as JSON to the child.
type job struct {
	Contestant string
	// Workload is the name of a workload of the part cli. It is empty for many graphs;
	// Graphs is then their number, and First the number of the first.
	Workload      string
	Delete        bool // the workload instead of creating it
	Graphs, First int
	Instances     bool // of which each graph is rendered
	// Namespaces are those of the graphs, each of which gets an equal part. A workload has
	// one.
	Namespaces []string
	Kubeconfig string
	// Metrics and Probes are the addresses at which a profiled controller serves.
	Metrics, Probes string
	// Profile is the file for a CPU profile of the job. It is empty if none is written.
	Profile string
}

// namespaceOf and nameOf return the namespace and the name of the graph with an index from 0
// to Graphs, exclusive, and of its objects.
func (j job) namespaceOf(index int) string { return j.Namespaces[index*len(j.Namespaces)/j.Graphs] }
func (j job) nameOf(index int) string      { return fmt.Sprintf("app-%d", j.First+index) }

// run does the job and returns how long it took. Preparations, such as encoding
// the objects, are not timed; connecting to the API server is.
func (j job) run(ctx context.Context) (time.Duration, error) {
	config, err := clientcmd.BuildConfigFromFlags("", j.Kubeconfig)
	if err != nil {
		return 0, err
	}
	work, err := j.prepare(config)
	if err != nil {
		return 0, err
	}
	start := time.Now()
	err = work(ctx)
	return time.Since(start), err
}

// prepare returns the timed part of a job.
//
// Many graphs are the floor's work for both contestants: the floor creates graphs
// and objects, and for the applier it creates only the graphs and waits until a
// running pequod-applier has made them ready.
func (j job) prepare(config *rest.Config) (func(context.Context) error, error) {
	var levels [][]object
	var err error
	if j.Workload == "" {
		levels, err = graphLevels(j, j.Contestant == applierContestant)
	} else {
		levels = findWorkload(j.Workload).objects(j.Namespaces[0])
	}
	if err != nil {
		return nil, err
	}
	if j.Workload != "" && j.Contestant == applierContestant {
		return prepareApplier(levels, j.Namespaces[0], j.Delete, config)
	}
	f, err := newFloor(config, levels, j.Namespaces)
	if err != nil {
		return nil, err
	}
	return f.apply, nil
}
