package controller

import (
	"context"
	"slices"
	"strconv"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
	"github.com/pequod-io/pequod/inventory/configmap"
)

// census tells what the graphs of a namespace list: what is handed over to them
// isn't deleted. All who ask while it is being found out are answered by the next
// look, which begins when they have asked: a namespace whose graphs are deleted
// together isn't read once for each.
type census struct {
	c *controller

	mu     sync.Mutex
	asking map[account][]func(*inventory.Listings, error) // who waits for the next look
	busy   map[account]bool
}

func newCensus(c *controller) *census {
	return &census{c: c, asking: map[account][]func(*inventory.Listings, error){}, busy: map[account]bool{}}
}

// ask has somebody told what the graphs of an account's namespace list.
func (s *census) ask(a account, client *cluster.Client, answer func(*inventory.Listings, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asking[a] = append(s.asking[a], answer)
	if !s.busy[a] {
		s.busy[a] = true
		s.c.pool.do(a, func() { s.look(a, client) })
	}
}

// look answers those who have asked, and those who do meanwhile later.
func (s *census) look(a account, client *cluster.Client) {
	s.mu.Lock()
	asked := s.asking[a]
	delete(s.asking, a)
	s.mu.Unlock()
	listings, err := s.c.listings(context.Background(), a.namespace, client)
	for _, answer := range asked {
		answer(listings, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.asking[a]) == 0 {
		delete(s.busy, a)
		return
	}
	s.c.pool.do(a, func() { s.look(a, client) })
}

// censusPage is how many graphs are read at once, which may be large.
const censusPage = 100

func (c *controller) listings(ctx context.Context, namespace string, client *cluster.Client) (_ *inventory.Listings, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = c.panicked(p, namespace, "")
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	var all []*inventory.Inventory
	here := map[inventory.Owner]bool{}
	for next := ""; ; {
		list := &v1alpha1.ResourceGraphList{}
		err := c.graphs.Get().Resource("resourcegraphs").Namespace(namespace).
			Param("limit", strconv.Itoa(censusPage)).Param("continue", next).Do(ctx).Into(list)
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
	r.d.c.census.ask(account{r.d.key.Namespace, r.d.account}, r.client, func(l *inventory.Listings, err error) {
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
