package controller

import (
	"context"
	"slices"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
	"github.com/pequod-io/pequod/inventory/configmap"
)

// listPage is how many graphs are read at once, which may be large.
const listPage = 100

func (c *controller) listings(ctx context.Context, namespace string, client *cluster.Client) (*inventory.Listings, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	var all []*inventory.Inventory
	here := map[inventory.Owner]bool{}
	for next := ""; ; {
		list := &v1alpha1.ResourceGraphList{}
		err := c.graphs.Get().Resource("resourcegraphs").Namespace(namespace).
			Param("limit", strconv.Itoa(listPage)).Param("continue", next).Do(ctx).Into(list)
		if err != nil {
			return nil, err
		}
		for i := range list.Items {
			all = append(all, c.inventoriesOf(&list.Items[i], here)...)
		}
		if next = list.Continue; next == "" {
			break
		}
	}
	// Graphs that are executed from outside keep theirs in ConfigMaps.
	outside, err := configmap.NewStore(client.REST()).List(ctx, namespace)
	if err != nil && !apierrors.IsForbidden(err) {
		return nil, err
	}
	// A ConfigMap that was left beside an inventory in a status counts no more.
	outside = slices.DeleteFunc(outside, func(inv *inventory.Inventory) bool { return here[inv.Owner] })
	return inventory.ListingsOf(append(all, outside...)), nil
}

// inventoriesOf are what a graph is to own, and what its status says that it owns; here
// notes whose inventory is in the status alone.
func (c *controller) inventoriesOf(rg *v1alpha1.ResourceGraph, here map[inventory.Owner]bool) []*inventory.Inventory {
	if rg.DeletionTimestamp != nil {
		return nil
	}
	owner := inventory.Owner{Namespace: rg.Namespace, Name: rg.Name}
	inventories := []*inventory.Inventory{{Owner: owner, Entries: engine.DesiredEntries(rg, c.namespaced)}}
	if in := rg.Status.Inventory; in != nil {
		inventories = append(inventories, inventory.OfStatus(owner, in))
		here[owner] = in.ConfigMap == ""
	}
	return inventories
}

// askOthers asks what other graphs list, and doesn't keep a worker of the pool
// while that is found out.
func (r *run) askOthers(a *engine.Action) {
	r.flying++
	r.d.c.share.Listings(r.d.serviceAccount(), r.client, func(l *inventory.Listings, err error) {
		r.d.post(func() {
			r.flying--
			o := engine.Outcome{Err: err}
			if err == nil {
				o.Claims = l.Besides(r.d.owner)
			}
			r.engine.Done(*a, o)
		})
	})
}
