package execute

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/cli/input"
	"github.com/pequod-io/pequod/cli/kube"
	"github.com/pequod-io/pequod/inventory/stored"
)

// PlanEach plans graphs concurrently and returns the plans in the order of
// graphs. It stops at the first error, because a plan without one of the graphs
// would mislead. A node that would fail is no error; it is part of its plan.
//
// o.Drift applies to graphs with driftPolicy Report; a plan corrects the drift of
// all others, as their apply does.
func PlanEach(ctx context.Context, a *applier.Applier, graphs []input.Graph, o applier.PlanOptions) ([]*applier.Plan, error) {
	plans := make([]*applier.Plan, len(graphs))
	// Every graph is a sibling of all others, as in an apply of the same input.
	for _, rg := range graphs {
		o.Siblings = append(o.Siblings, rg.ResourceGraph)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(MaxConcurrent)
	for i, rg := range graphs {
		g.Go(func() (err error) {
			opts := o
			if rg.Spec.DriftPolicy != v1alpha1.DriftReport {
				opts.Drift = engine.CorrectDrift
			}
			plans[i], err = a.Plan(ctx, rg.ResourceGraph, opts)
			return GraphError(rg.ResourceGraph, err)
		})
	}
	return plans, g.Wait()
}

// GraphError adds the name of the graph to an error, unless it is an error of the
// connection to the cluster, which isn't about one graph. It returns nil for nil.
func GraphError(rg *v1alpha1.ResourceGraph, err error) error {
	if err == nil {
		return nil
	}
	if plain := kube.Error(err); plain.Error() != err.Error() {
		return plain
	}
	var distant *stored.DistantError
	switch {
	case errors.As(err, &distant):
		return distant // it has the name
	case errors.Is(err, engine.ErrEmpty):
		err = fmt.Errorf("%w; allow it with --allow-empty", err)
	}
	return fmt.Errorf("graph %s/%s: %w", rg.Namespace, rg.Name, err)
}
