package controller

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/controller/graphs"
	"github.com/pequod-io/pequod/applier/controller/share"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/internal/resourceversion"
	"github.com/pequod-io/pequod/inventory"
)

// division knows which graphs this replica executes. With its lock, reports about graphs and changes
// of the shards exclude each other.
//
// The watch reports the graphs of all shards. When the replica takes a shard, its graphs were
// reported before, so they are listed. The list has everything up to its version: earlier
// events, which the watch may still report, are dropped, and later ones wait until the version is
// known.
type division struct {
	changed chan struct{} // gets a value when shards were taken; has a buffer of one

	mu      sync.Mutex
	held    map[int]*heldShard
	waiting []graphEvent // of shards that aren't listed
	// later are the graphs with events that are newer than the list, reported while it is handed
	// over; nil while no list is.
	later map[types.NamespacedName]bool
}

// heldShard is a shard that this replica holds.
type heldShard struct {
	listed bool   // its graphs are known
	since  string // the version of the list; "" for all events
}

// graphEvent is a report about a graph.
type graphEvent struct {
	rg      *v1alpha1.ResourceGraph
	deleted bool
}

// admit reports whether an event concerns this replica now. The caller holds the lock.
func (c *controller) admit(e graphEvent) bool {
	if c.Shards == nil {
		return true
	}
	d := &c.division
	shard := d.held[c.Shards.Of(e.rg.UID)]
	switch {
	case shard == nil:
		if !e.deleted {
			c.claimElsewhere(e.rg)
		}
		return false
	case !shard.listed:
		d.waiting = append(d.waiting, e)
		return false
	case shard.since != "" && !resourceversion.Older(shard.since, e.rg.ResourceVersion):
		return false // the list has it
	}
	if d.later != nil {
		d.later[graphs.Key(e.rg)] = true
	}
	return true
}

// claimElsewhere makes graphs of this replica hand over the objects that leave them and that a
// graph of another replica lists.
func (c *controller) claimElsewhere(rg *v1alpha1.ResourceGraph) {
	if rg.DeletionTimestamp != nil || seenGraphOf(rg).suspended {
		return
	}
	claim := func(from *share.Share, client *cluster.Client) {
		if !from.AnyLeaves() {
			return
		}
		var keys []inventory.Key
		for _, e := range engine.DesiredEntries(rg, scopes(client.Kinds())) {
			keys = append(keys, e.Key)
		}
		from.Claim(otherGraph{Namespace: rg.Namespace, Name: rg.Name}, keys)
	}
	if rg.Spec.KubeConfig == nil {
		claim(c.share, c.own)
		return
	}
	for _, d := range c.destinations.of(rg.Namespace, rg.Spec.KubeConfig.SecretRef) {
		claim(d.share, d.client)
	}
}

// otherGraph is a graph that another replica executes.
type otherGraph inventory.Owner

// Owner implements [share.Graph].
func (g otherGraph) Owner() inventory.Owner { return inventory.Owner(g) }

// Notify implements [share.Graph].
func (otherGraph) Notify(share.Observation) {}

// executes reports whether this replica executes a graph. The caller holds the lock.
func (c *controller) executes(uid types.UID) bool {
	return c.Shards == nil || c.division.held[c.Shards.Of(uid)] != nil
}

// allListed notes that all graphs of all shards were handed over. The caller holds the lock.
func (d *division) allListed() {
	for _, s := range d.held {
		*s = heldShard{listed: true}
	}
	d.waiting, d.later = nil, nil
}

// Take implements [shards.Work].
func (c *controller) Take(shard int) {
	c.division.mu.Lock()
	defer c.division.mu.Unlock()
	c.division.held[shard] = &heldShard{}
	select {
	case c.division.changed <- struct{}{}:
	default: // the list is going to have this shard, too
	}
}

// Leave implements [shards.Work]. The drivers of the shard end without a further write.
func (c *controller) Leave(ctx context.Context, shard int) {
	in := func(d *driver) bool { return c.Shards.Of(d.inbox.uid()) == shard }
	c.division.mu.Lock()
	delete(c.division.held, shard)
	var leaving []*driver
	for _, d := range c.all() {
		if in(d) {
			d.inbox.graphLeft()
			leaving = append(leaving, d)
		}
	}
	c.division.mu.Unlock()
	defer context.AfterFunc(ctx, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.forgotten.Broadcast()
	})()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, d := range leaving {
		// A driver may go on with another graph of that name.
		for ctx.Err() == nil && c.drivers[d.key] == d && in(d) {
			c.forgotten.Wait()
		}
	}
}

// followShards makes the graphs of shards that are taken known, until ctx is done.
func (c *controller) followShards(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.division.changed:
		}
		if !c.leading.Swap(true) {
			go c.watchGraphs(ctx)
			continue
		}
		c.gaining.Store(true)
		for pause := share.MinPause; ctx.Err() == nil; pause = min(2*pause, share.MaxPause) {
			err := c.listTaken(ctx)
			if err == nil {
				break
			}
			c.log.Info("listing the graphs of a shard", "error", err.Error())
			select {
			case <-ctx.Done():
			case <-time.After(pause):
			}
		}
		c.gaining.Store(false)
	}
}

// listTaken hands over the graphs of the shards that aren't listed.
func (c *controller) listTaken(ctx context.Context) error {
	d := &c.division
	var taken map[int]*heldShard
	listed := map[types.NamespacedName]bool{}
	err := c.graphs.ListFrom(ctx, c.Namespace, c.selector(), func(version string, page []v1alpha1.ResourceGraph) {
		d.mu.Lock()
		defer d.mu.Unlock()
		if taken == nil {
			taken = c.listBegins(version)
		}
		for i := range page {
			rg := page[i] // a copy: the page isn't kept
			shard := c.Shards.Of(rg.UID)
			if taken[shard] == nil || taken[shard] != d.held[shard] || d.later == nil {
				continue // it was given up meanwhile, or all graphs were listed
			}
			listed[graphs.Key(&rg)] = true
			if !d.later[graphs.Key(&rg)] {
				c.graphChanged(&rg, true)
			}
		}
	})
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil {
		for _, s := range taken {
			s.listed = s.since == "" // unless all graphs were listed meanwhile
		}
		d.later = nil
		return err
	}
	// Graphs of an earlier list that failed midway.
	for key, driver := range c.all() {
		shard := c.Shards.Of(driver.inbox.uid())
		if d.later != nil && taken[shard] != nil && taken[shard] == d.held[shard] && !listed[key] && !d.later[key] {
			driver.inbox.graphDeleted()
		}
	}
	d.later = nil
	return nil
}

// listBegins returns the shards that a list of a version makes known, and reports the events that
// waited for it. The caller holds the lock.
func (c *controller) listBegins(version string) map[int]*heldShard {
	d, taken := &c.division, map[int]*heldShard{}
	for number, s := range d.held {
		if !s.listed {
			*s = heldShard{listed: true, since: version}
			taken[number] = s
		}
	}
	waiting := d.waiting
	d.waiting, d.later = nil, map[types.NamespacedName]bool{}
	for _, e := range waiting {
		c.reported(e)
	}
	return taken
}

// runSharded makes the shared services work as runShared does, and holds shards until they have
// ended.
func (c *controller) runSharded(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	held, release := context.WithCancel(context.WithoutCancel(ctx))
	defer release()
	ended := make(chan error, 1)
	go func() {
		err := c.Shards.Run(held, c)
		if err != nil {
			stop()
			c.share.Abort()
		}
		ended <- err
	}()
	c.share.Run(ctx, shutdownTimeout)
	release()
	return <-ended
}
