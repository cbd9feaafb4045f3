package applier

import (
	"context"
	"errors"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
	"github.com/pequod-io/pequod/inventory/stored"
)

// Apply executes a graph. It returns an error only if the run didn't end by
// itself: it timed out, was canceled or superseded, or couldn't begin. A graph
// with failed nodes is a result with phase [engine.Stuck] and no error. A graph whose
// objects are in another cluster is refused with a [*stored.DistantError], as in all
// methods but [Applier.StatusOf] and those about the history.
func (a *Applier) Apply(ctx context.Context, rg *v1alpha1.ResourceGraph, o Options) (*Result, error) {
	if err := stored.Refuse(rg); err != nil {
		return nil, err
	}
	recorded, err := a.load(ctx, inventory.Owner{Namespace: rg.Namespace, Name: rg.Name})
	if err != nil {
		return nil, err
	}
	// A kind without a known scope would be looked up in the graph's namespace.
	o.Namespaced, o.NoWait = a.namespaced(ctx), !o.Wait
	// Without Prune, siblings keep the objects that left them.
	if o.Prune {
		o.HandsOver = handsOver(rg, o.Siblings, o.Namespaced)
	}
	e, err := engine.New(rg, recorded, o.Options)
	if err != nil {
		return nil, err
	}
	result, err := a.run(ctx, e, o)
	if !errors.Is(err, ErrSuperseded) {
		a.claimForeign(ctx, e.Owner(), result.Statuses, o.Report)
	}
	return result, err
}
