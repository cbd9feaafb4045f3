package main

import (
	"cmp"
	"context"
	"errors"

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
	hooks "github.com/pequod-io/pequod/operator/admission/serve"
)

// serve runs the applier until ctx is done and requests in flight have ended. The
// program is ready only if the cluster serves ResourceGraphs. It returns an error
// if the program cannot start or cannot continue, and nil after a signal.
func serve(ctx context.Context, config *rest.Config, log logr.Logger, s *incluster.Settings) error {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddGraphsToScheme(scheme); err != nil {
		return err
	}
	// Package program has everything that is not specific to graphs: the manager,
	// metrics, probes and the leader election.
	o := s.Program(log, scheme)
	o.Needs = []schema.GroupVersionResource{v1alpha1.GroupVersion.WithResource("resourcegraphs")}
	o.Setup = func(m manager.Manager) error {
		graphs := s.Graphs
		if o.Election.Shards > 1 {
			replica, err := o.Replica(m, cmp.Or(o.Election.Namespace, incluster.PodNamespace()))
			if err != nil {
				return err
			}
			graphs.Shards = replica
		}
		graphs.Metrics, graphs.AtRest = appliermetrics.New(metrics.Registry), incluster.FreeMemory
		return errors.Join(controller.Setup(m, graphs), s.SetupWebhooks(ctx, m, hooks.Applier, nil, nil))
	}
	return program.Run(ctx, config, o)
}
