package main

import (
	"context"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/pequod-io/pequod/applier/program"
)

// serve runs the applier until ctx is done.
func serve(ctx context.Context, config *rest.Config, log logr.Logger, s *settings) error {
	return program.Run(ctx, config, program.Options{
		Name: name, Version: programVersion(), Log: log,
		Metrics: s.metrics, Probes: s.probes, Election: s.election,
		Setup: func(m manager.Manager) error { return nil },
	})
}
