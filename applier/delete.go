package applier

import (
	"context"
	"fmt"

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
// objects. A graph without objects is a result without statuses. If objects couldn't be
// searched in all API groups, those that were found are deleted, and the error says so.
func (a *Applier) Delete(ctx context.Context, owner inventory.Owner, o Options) (*Result, error) {
	stored, found, err := a.loadOrRecover(ctx, owner)
	if err != nil {
		return nil, err
	}
	o.NoWait = !o.Wait
	result, err := a.run(ctx, engine.NewDelete(stored, o.Options), o)
	if result != nil {
		result.Unproven = found.unproven
	}
	if err == nil {
		err = found.incomplete()
	}
	return result, err
}

// search is the result of a search for the objects of a graph.
type search struct {
	// missed are the API groups that couldn't be searched.
	missed []engine.Unsearched
	// unproven are objects that others applied with the labels of the graph.
	unproven []inventory.Key
}

// incomplete returns an error if objects couldn't be searched in all API groups.
func (s search) incomplete() error {
	if len(s.missed) == 0 {
		return nil
	}
	return fmt.Errorf("there is no inventory, and objects can't be searched in %s, which isn't available: %s; delete the graph again later",
		s.missed[0].Group, s.missed[0].Reason)
}

// PlanDelete predicts the result of Delete and stores nothing. Deletions are sent as
// dry runs. The plan has removals only. If objects couldn't be searched in all API groups,
// there is a plan for those that were found, and an error.
func (a *Applier) PlanDelete(ctx context.Context, owner inventory.Owner, o PlanOptions) (*Plan, error) {
	stored, found, err := a.loadOrRecover(ctx, owner)
	if err != nil {
		return nil, err
	}
	o.Mode, o.Namespaced = engine.ModePlan, a.namespaced(ctx)
	p := newPlanner(a, engine.NewDelete(stored, o.Options), &v1alpha1.ResourceGraph{}, o)
	if _, err := a.inspect(ctx, p.engine, a.now(), p.executor()); err != nil {
		return nil, err
	}
	if err := found.incomplete(); err != nil {
		return p.result(), fmt.Errorf("graph %s: %w", owner, err)
	}
	return p.result(), nil
}

// loadOrRecover returns the inventory of a graph, from the labels of its objects if
// it was lost.
func (a *Applier) loadOrRecover(ctx context.Context, owner inventory.Owner) (*inventory.Inventory, search, error) {
	stored, err := a.load(ctx, owner)
	var found search
	if err == nil && stored.Revision == "" {
		found, err = a.recoverInventory(ctx, stored)
	}
	return stored, found, err
}

// recoverInventory adds the objects that have the labels of the graph. Their order
// is lost, so all of them are in one level. Field managers of nodes are known only if the
// ResourceGraph is in the cluster.
func (a *Applier) recoverInventory(ctx context.Context, inv *inventory.Inventory) (search, error) {
	objects, missed, err := a.Client.FindByLabels(ctx, inv.Owner.Selector(), inv.Owner.Namespace)
	if err != nil {
		return search{}, err
	}
	found := search{missed: missed}
	var managers []string
	if rg, err := a.StoredGraph(ctx, inv.Owner); err == nil && rg != nil {
		managers = engine.Managers(rg)
	}
	known := make(map[inventory.Key]bool, len(inv.Entries))
	for _, entry := range inv.Entries {
		known[entry.Key] = true
	}
	for _, obj := range objects {
		entry, ok := engine.RecoverEntry(inv.Owner, obj, managers...)
		switch {
		case ok && !known[entry.Key]:
			inv.Entries = append(inv.Entries, entry)
		case !ok && len(obj.GetOwnerReferences()) == 0:
			found.unproven = append(found.unproven, engine.KeyOf(obj))
		}
	}
	inventory.Sort(inv.Entries)
	return found, nil
}
