package main

import (
	"context"
	"errors"
	"os"
	"runtime/debug"
	"slices"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/controller"
	appliermetrics "github.com/pequod-io/pequod/applier/metrics"
	"github.com/pequod-io/pequod/applier/program"
	"github.com/pequod-io/pequod/cmd/internal/incluster"
	"github.com/pequod-io/pequod/operator/worker/child"
)

// run runs the program and returns its exit code. The argument "worker", which no help
// mentions, makes the process one that evaluates for the manager.
func run(args []string) int {
	if slices.Equal(args, []string{"worker"}) {
		return child.Serve(os.Stdin, os.Stdout)
	}
	return new(options).program().Run(args, os.Stdout, os.Stderr)
}

// serve runs the controllers until ctx is done and requests in flight have ended.
func (o *options) serve(ctx context.Context, config *rest.Config, log logr.Logger, s *incluster.Settings) error {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return err
	}
	if _, err := cacheOptions(os.LookupEnv); err != nil {
		return err
	}
	p := s.Program(log, scheme)
	p.Needs = []schema.GroupVersionResource{
		v1alpha1.GroupVersion.WithResource("resourcegraphs"), v1alpha1.GroupVersion.WithResource("transforms"),
	}
	p.Setup = func(m manager.Manager) error {
		return errors.Join(o.setup(m, s), s.SetupWebhooks(ctx, m, nil))
	}
	return program.Run(ctx, config, p)
}

// setup adds the controllers to the manager.
func (o *options) setup(m manager.Manager, s *incluster.Settings) error {
	graphs := s.Graphs
	graphs.Metrics, graphs.AtRest = appliermetrics.New(metrics.Registry), debug.FreeOSMemory
	return controller.Setup(m, graphs)
}
