package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/client-go/rest"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
	"github.com/pequod-io/pequod/inventory/configmap"
)

// prepareApplier returns a function that applies or deletes the objects as one graph
// with the library and the options that `pequod apply` and `pequod delete` use. Events are discarded, as
// printing them is not measured. The client is created in the timed part, because
// the command creates one too.
func prepareApplier(levels [][]object, namespace string, remove bool, config *rest.Config) (func(context.Context) error, error) {
	rg, err := newGraph(namespace, "bench", slices.Concat(levels...))
	if err != nil {
		return nil, err
	}
	options := applier.Options{
		Options: engine.Options{Prune: true, ExplainInterval: 2 * time.Second, PollInterval: 30 * time.Second},
		Timeout: 5 * time.Minute, Wait: true,
		Report: func(applier.Event) {},
	}
	return func(ctx context.Context) error {
		client, err := cluster.New(config)
		if err != nil {
			return err
		}
		a := &applier.Applier{Client: client, Inventories: configmap.NewStore(client.REST())}
		var result *applier.Result
		if remove {
			result, err = a.Delete(ctx, inventory.Owner{Namespace: namespace, Name: rg.Name}, options)
		} else {
			result, err = a.Apply(ctx, rg, options)
		}
		if err != nil {
			return err
		}
		return checkCompleted(result)
	}, nil
}

// checkCompleted returns an error unless the run completed, so that a fast
// failure cannot pass for a fast run. It names the first node that failed.
func checkCompleted(result *applier.Result) error {
	if result.Phase == engine.Completed {
		return nil
	}
	for _, s := range result.Statuses {
		if s.Phase == v1alpha1.NodeFailed {
			return fmt.Errorf("%s: %s: %s", s.Key, s.Reason, s.Message)
		}
	}
	return fmt.Errorf("phase %s", result.Phase)
}
