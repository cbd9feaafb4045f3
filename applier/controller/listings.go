package controller

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
	"github.com/pequod-io/pequod/inventory/stored"
)

// listings returns which objects each graph of a namespace lists: those in its
// spec and those in its inventory. Graphs that are executed from outside the
// cluster have inventories in ConfigMaps, which are read as the account of
// client. If the account may not read them, they are ignored.
func (s *services) listings(ctx context.Context, namespace string, client *cluster.Client) (*inventory.Listings, error) {
	var all []*inventory.Inventory
	inStatus := map[inventory.Owner]bool{}
	err := s.graphs.List(ctx, namespace, func(rg *v1alpha1.ResourceGraph) {
		if rg.DeletionTimestamp != nil {
			return // it takes over nothing
		}
		owner := inventory.Owner{Namespace: rg.Namespace, Name: rg.Name}
		all = append(all, &inventory.Inventory{Owner: owner, Entries: engine.DesiredEntries(rg, s.namespaced)})
		if in := rg.Status.Inventory; in != nil {
			all = append(all, inventory.OfStatus(owner, in))
			inStatus[owner] = stored.InStatus(in)
		}
	})
	if err != nil {
		return nil, err
	}
	outside, err := stored.New(client.REST()).ListConfigMaps(ctx, namespace, func(o inventory.Owner) bool { return inStatus[o] })
	if err != nil && !apierrors.IsForbidden(err) {
		return nil, err
	}
	return inventory.ListingsOf(append(all, outside...)), nil
}
