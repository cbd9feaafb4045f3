package main

import (
	"context"
	"runtime/debug"

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
	"github.com/pequod-io/pequod/internal/version"
)

// serve runs the applier until ctx is done and requests in flight have ended. The
// program is ready only if the cluster serves ResourceGraphs. It returns an error
// if the program cannot start or cannot continue, and nil after a signal.
func serve(ctx context.Context, config *rest.Config, log logr.Logger, s *settings) error {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return err
	}
	election := s.election
	election.Lease = s.lease()
	// Package program has everything that is not specific to graphs: the manager,
	// metrics, probes and the leader election.
	return program.Run(ctx, config, program.Options{
		Name: name, Version: version.Program(), Log: log,
		Scheme:    scheme,
		Needs:     []schema.GroupVersionResource{v1alpha1.GroupVersion.WithResource("resourcegraphs")},
		Namespace: s.namespace,
		Metrics:   s.metrics, Probes: s.probes, Election: election,
		Setup: func(m manager.Manager) error {
			return controller.Setup(m, controller.Options{
				Concurrent: s.concurrent, Resync: s.resync, Relist: s.relist, PruneGrace: s.pruneGrace,
				DefaultServiceAccount: s.defaultServiceAccount, NoCrossNamespace: s.noCrossNamespace,
				Namespace: s.namespace, Selector: s.selector,
				Metrics: appliermetrics.New(metrics.Registry), AtRest: debug.FreeOSMemory,
			})
		},
	})
}
