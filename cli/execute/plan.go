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
)

// planEach plans graphs beside each other, and gives the plans in their order.
// With o.Drift, graphs whose policy says so leave drift as it is.
func PlanEach(ctx context.Context, a *applier.Applier, graphs []input.Graph, o applier.PlanOptions) ([]*applier.Plan, error) {
	plans := make([]*applier.Plan, len(graphs))
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

// graphError says of which graph an error is, unless it is the cluster's.
func GraphError(rg *v1alpha1.ResourceGraph, err error) error {
	if err == nil {
		return nil
	}
	if plain := kube.ClusterError(err); plain.Error() != err.Error() {
		return plain
	}
	if errors.Is(err, engine.ErrEmpty) {
		err = fmt.Errorf("%w; allow it with --allow-empty", err)
	}
	return fmt.Errorf("graph %s/%s: %w", rg.Namespace, rg.Name, err)
}
