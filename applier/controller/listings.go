package controller

import (
	"context"
	"slices"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
	"github.com/pequod-io/pequod/inventory/stored"
)

// listings returns which objects each graph of a namespace lists in its spec, with
// the UIDs in its inventory. Graphs that aren't executed, because they are being
// deleted or are suspended, claim nothing. Neither do inventories in ConfigMaps of
// graphs that aren't in the cluster: every tenant who may write ConfigMaps could
// write one.
//
// A claim only makes the other graph a candidate; [handOvers.handOver] checks whether it
// can take the object.
func (s *services) listings(ctx context.Context, namespace string, client *cluster.Client) (*inventory.Listings, error) {
	var all []*inventory.Inventory
	var large []*v1alpha1.ResourceGraph // without their specs
	err := s.graphs.List(ctx, namespace, func(rg *v1alpha1.ResourceGraph) {
		if rg.DeletionTimestamp != nil || seenGraphOf(rg).suspended {
			return
		}
		owner := inventory.Owner{Namespace: rg.Namespace, Name: rg.Name}
		desired := engine.DesiredEntries(rg, s.namespaced)
		if in := rg.Status.Inventory; in != nil {
			desired = withUIDs(desired, inventory.OfStatus(owner, in))
			if !stored.InStatus(in) {
				large = append(large, &v1alpha1.ResourceGraph{ObjectMeta: rg.ObjectMeta, Status: rg.Status})
			}
		}
		all = append(all, &inventory.Inventory{Owner: owner, Entries: desired})
	})
	if err != nil {
		return nil, err
	}
	for _, rg := range large {
		// An inventory that can't be read is the failure of its own graph. The claims
		// in its spec count all the same.
		if inv, err := stored.New(client.REST()).LoadOf(ctx, rg); err == nil {
			for _, claims := range all {
				if claims.Owner == inv.Owner {
					claims.Entries = withUIDs(claims.Entries, inv)
				}
			}
		}
	}
	return inventory.ListingsOf(all), nil
}

// withUIDs returns the desired entries of a graph with the UIDs of its inventory.
func withUIDs(desired []inventory.Entry, recorded *inventory.Inventory) []inventory.Entry {
	wanted := make(map[inventory.Key]bool, len(desired))
	for _, e := range desired {
		wanted[e.Key] = true
	}
	return slices.DeleteFunc(inventory.Union(recorded.Entries, desired), func(e inventory.Entry) bool { return !wanted[e.Key] })
}
