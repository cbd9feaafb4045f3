package applier

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/inventory"
)

// ErrNoHistory means that a graph was applied without a ResourceGraph in the cluster,
// whose status is the only place of a history.
var ErrNoHistory = errors.New("has no history: there is no ResourceGraph in the cluster")

// History returns the finished executions of a graph, oldest first. They are read
// from the status of its ResourceGraph, where the applier in the cluster keeps the
// last v1alpha1.MaxHistory of them. A graph that wasn't executed yet has none. The
// errors are [ErrNoHistory] and [ErrNoGraph].
func (a *Applier) History(ctx context.Context, owner inventory.Owner) ([]v1alpha1.Revision, error) {
	rg, err := a.storedGraph(ctx, owner)
	if err != nil {
		return nil, err
	}
	if rg == nil {
		stored, err := a.load(ctx, owner)
		switch {
		case err != nil:
			return nil, err
		case stored.Revision == "":
			return nil, fmt.Errorf("graph %s: %w", owner, ErrNoGraph)
		}
		return nil, fmt.Errorf("graph %s: %w", owner, ErrNoHistory)
	}
	// Not nil: without executions, JSON has an empty array and not null.
	oldestFirst := make([]v1alpha1.Revision, 0, len(rg.Status.History))
	for _, r := range slices.Backward(rg.Status.History) {
		oldestFirst = append(oldestFirst, r)
	}
	return oldestFirst, nil
}
