package applier

import (
	"context"

	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
)

// Delete removes everything that a graph owns, in reverse order: a level goes
// when the one that needs it is gone. Objects whose policy says so, and with
// Options.Orphan all of them, are released instead. The inventory goes last.
//
// Without Options.Wait a level doesn't wait for the one before it: the deletion of
// everything is asked for at once, and what isn't gone when the run ends stays in
// the inventory.
//
// An inventory that was lost is found again by the labels of the graph's
// objects. A graph that owns nothing is a result without statuses.
func (a *Applier) Delete(ctx context.Context, owner inventory.Owner, o Options) (*Result, error) {
	stored, err := a.load(ctx, owner)
	if err != nil {
		return nil, err
	}
	if stored.Revision == "" {
		if err := a.recover(ctx, stored); err != nil {
			return nil, err
		}
	}
	o.NoWait = !o.Wait
	return a.run(ctx, engine.NewDelete(stored, o.Options), o)
}

// recover completes an inventory by what carries the labels of its graph.
// Without it the order of the objects isn't known: they go all at once.
func (a *Applier) recover(ctx context.Context, inv *inventory.Inventory) error {
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
