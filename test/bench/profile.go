package main

import (
	"cmp"
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strings"
	"time"

	"github.com/go-logr/logr"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/pequod-io/pequod/api/v1alpha1"
	applier "github.com/pequod-io/pequod/applier/controller"
	appliermetrics "github.com/pequod-io/pequod/applier/metrics"
	"github.com/pequod-io/pequod/applier/program"
)

// runProfiled does the job of a contestant, and writes a CPU profile of its timed
// part to j.Profile unless it is empty.
func (j job) runProfiled(ctx context.Context) (work time.Duration, err error) {
	if j.Profile == "" {
		return j.run(ctx)
	}
	file, err := os.Create(j.Profile)
	if err != nil {
		return 0, err
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return 0, err
	}
	defer func() {
		pprof.StopCPUProfile()
		err = cmp.Or(err, file.Close())
	}()
	return j.run(ctx)
}

// runProfiledController runs the applier as cmd/pequod-applier does, inside this
// process. When ctx is done it writes a CPU profile to j.Profile, and a heap
// profile to a file next to it: "controller-1.prof" and "controller-1.heap".
func runProfiledController(ctx context.Context, j job) error {
	debug.SetGCPercent(50) // as pequod-applier does; earlygc has changed it for the command line
	// One sample per 4 KiB instead of 512 KiB: small objects of idle graphs are
	// the interesting ones.
	runtime.MemProfileRate = 4096
	config, err := clientcmd.BuildConfigFromFlags("", j.Kubeconfig)
	if err != nil {
		return err
	}
	scheme := k8sruntime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return err
	}
	file, err := os.Create(j.Profile)
	if err != nil {
		return err
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return err
	}
	defer pprof.StopCPUProfile()
	// The heap profile must be written while the caches are still in use. The
	// manager therefore runs until the profile is complete, not until ctx is
	// done.
	until, end := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() {
		writeHeap(strings.TrimSuffix(j.Profile, ".prof") + ".heap")
		end()
	})
	return program.Run(until, config, program.Options{
		Name: account, Version: "bench", Log: logr.Discard(), Scheme: scheme,
		Needs:   []schema.GroupVersionResource{v1alpha1.GroupVersion.WithResource(resourceGraphs.resource)},
		Metrics: program.Metrics{Address: j.Metrics}, Probes: j.Probes,
		Election: program.Election{Enabled: true, Namespace: system},
		Setup: func(m manager.Manager) error {
			return applier.Setup(m, applier.Options{DefaultServiceAccount: "pequod", Metrics: appliermetrics.New(metrics.Registry)})
		},
	})
}

// writeHeap writes a profile of the live heap. Its errors are ignored: profiles
// are for a developer, who sees that the file is missing.
func writeHeap(path string) {
	file, err := os.Create(path)
	if err != nil {
		return // the profile of the CPU tells why
	}
	defer file.Close()
	runtime.GC()
	_ = pprof.WriteHeapProfile(file)
}
