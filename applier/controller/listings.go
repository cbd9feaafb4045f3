package controller

import (
	"context"
	"slices"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/controller/share"
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
// Objects in different clusters are different objects, so there is a listing per cluster.
//
// A claim only makes the other graph a candidate; [handOvers.handOver] checks whether it
// can take the object.
func (s *services) listings(ctx context.Context, namespace string, client *cluster.Client) (share.Listings, error) {
	all := map[v1alpha1.SecretKeyReference][]*inventory.Inventory{}
	var large []*v1alpha1.ResourceGraph // with no more of their specs than the cluster
	err := s.graphs.List(ctx, namespace, func(rg *v1alpha1.ResourceGraph) {
		if rg.DeletionTimestamp != nil || seenGraphOf(rg).suspended {
			return
		}
		owner := inventory.Owner{Namespace: rg.Namespace, Name: rg.Name}
		ref, kinds := clusterOf(rg), s.own.Kinds()
		if rg.Spec.KubeConfig != nil {
			kinds = s.destinations.kinds(namespace, ref)
		}
		desired := engine.DesiredEntries(rg, scopes(kinds))
		if in := rg.Status.Inventory; in != nil {
			desired = withUIDs(desired, inventory.OfStatus(owner, in))
			if !stored.InStatus(in) {
				large = append(large, &v1alpha1.ResourceGraph{ObjectMeta: rg.ObjectMeta, Spec: v1alpha1.ResourceGraphSpec{KubeConfig: rg.Spec.KubeConfig}, Status: rg.Status})
			}
		}
		all[ref] = append(all[ref], &inventory.Inventory{Owner: owner, Entries: desired})
	})
	if err != nil {
		return nil, err
	}
	for _, rg := range large {
		// An inventory that can't be read is the failure of its own graph. The claims
		// in its spec count all the same.
		if inv, err := stored.New(client.REST()).LoadOf(ctx, rg); err == nil {
			for _, claims := range all[clusterOf(rg)] {
				if claims.Owner == inv.Owner {
					claims.Entries = withUIDs(claims.Entries, inv)
				}
			}
		}
	}
	listings := share.Listings{}
	for ref, inventories := range all {
		listings[ref] = inventory.ListingsOf(inventories)
	}
	return listings, nil
}

// withUIDs returns the desired entries of a graph with the UIDs of its inventory.
func withUIDs(desired []inventory.Entry, recorded *inventory.Inventory) []inventory.Entry {
	wanted := make(map[inventory.Key]bool, len(desired))
	for _, e := range desired {
		wanted[e.Key] = true
	}
	return slices.DeleteFunc(inventory.Union(recorded.Entries, desired), func(e inventory.Entry) bool { return !wanted[e.Key] })
}
