package applier

import (
	"context"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
)

// Delete removes every object of a graph, in reverse order: a level is deleted
// when the objects that depend on it are gone. Objects with an orphan policy, and
// with Options.Orphan all objects, are released instead. The inventory is removed
// last.
//
// Without Options.Wait, the deletion of every level is requested at once. Objects
// that aren't gone at the end of the run stay in the inventory.
//
// If the inventory was lost, it is recovered from the labels of the graph's
// objects. A graph without objects is a result without statuses.
func (a *Applier) Delete(ctx context.Context, owner inventory.Owner, o Options) (*Result, error) {
	stored, err := a.loadOrRecover(ctx, owner)
	if err != nil {
		return nil, err
	}
	o.NoWait = !o.Wait
	return a.run(ctx, engine.NewDelete(stored, o.Options), o)
}

// PlanDelete predicts the result of Delete and stores nothing. Deletions are sent as
// dry runs. The plan has removals only.
func (a *Applier) PlanDelete(ctx context.Context, owner inventory.Owner, o PlanOptions) (*Plan, error) {
	stored, err := a.loadOrRecover(ctx, owner)
	if err != nil {
		return nil, err
	}
	o.Mode, o.Namespaced = engine.ModePlan, a.namespaced(ctx)
	p := newPlanner(a, engine.NewDelete(stored, o.Options), &v1alpha1.ResourceGraph{}, o)
	if _, err := a.inspect(ctx, p.engine, a.now(), p.executor()); err != nil {
		return nil, err
	}
	return p.result(), nil
}

// loadOrRecover returns the inventory of a graph, from the labels of its objects if
// it was lost.
func (a *Applier) loadOrRecover(ctx context.Context, owner inventory.Owner) (*inventory.Inventory, error) {
	stored, err := a.load(ctx, owner)
	if err == nil && stored.Revision == "" {
		err = a.recoverInventory(ctx, stored)
	}
	return stored, err
}

// recoverInventory adds the objects that have the labels of the graph. Their order
// is lost, so all of them are in one level.
func (a *Applier) recoverInventory(ctx context.Context, inv *inventory.Inventory) error {
	objects, err := a.Client.FindByLabels(ctx, inv.Owner.Selector(), inv.Owner.Namespace)
	if err != nil {
		return err
	}
	known := make(map[inventory.Key]bool, len(inv.Entries))
	for _, entry := range inv.Entries {
		known[entry.Key] = true
	}
	for _, obj := range objects {
		if entry, ok := engine.RecoverEntry(inv.Owner, obj); ok && !known[entry.Key] {
			inv.Entries = append(inv.Entries, entry)
		}
	}
	inventory.Sort(inv.Entries)
	return nil
}
