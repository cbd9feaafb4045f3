package applier

import (
	"context"

	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
)

// Delete removes everything that a graph owns, in reverse order, and then its
// inventory.
func (a *Applier) Delete(ctx context.Context, owner inventory.Owner, o Options) (*Result, error) {
	stored, err := a.load(ctx, owner)
	if err != nil {
		return nil, err
	}
	return a.run(ctx, engine.NewDelete(stored, o.Options), o)
}
