package controller

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/controller/share"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
)

// division knows which graphs this replica executes. With its lock, reports about graphs and changes
// of the shards exclude each other.
//
// A watch covers the shards that were held when it began with a list, and the events of others are
// dropped. So when the replica takes a shard, the watch begins again. If the API server selects the
// graphs of shards itself, it also begins again when a shard was given up.
type division struct {
	changed chan struct{} // gets a value when the shards changed; has a buffer of one

	objects atomic.Pointer[string] // the selector of the objects of this replica; nil for those of all

	mu sync.Mutex
	// held are the shards of this replica. The value is set if the watch covers the shard.
	held map[int]bool
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
	covered, held := c.division.held[c.Shards.Of(e.rg.UID)]
	if !held && !e.deleted {
		c.claimElsewhere(e.rg)
	}
	return covered
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

// covers reports whether the watch covers a graph that this replica executes. The caller holds the
// lock.
func (c *controller) covers(uid types.UID) bool {
	return c.Shards == nil || c.division.held[c.Shards.Of(uid)]
}

// managed returns the label selector of the objects of graphs that this replica watches: those of its own
// graphs, and those that have no bucket yet.
func (d *division) managed() string {
	if selector := d.objects.Load(); selector != nil {
		return *selector
	}
	return share.Managed
}

// selectObjects makes the watches of objects cover the graphs of the shards that are held.
func (c *controller) selectObjects() {
	c.division.mu.Lock()
	others := c.Shards.Without(slices.Collect(maps.Keys(c.division.held)))
	c.division.mu.Unlock()
	selector := share.Managed
	if len(others) > 0 {
		selector += "," + v1alpha1.LabelBucket + " notin (" + strings.Join(others, ",") + ")"
	}
	if selector != c.division.managed() {
		c.division.objects.Store(&selector)
		c.share.Reselect()
		c.destinations.reselect()
	}
}

// complete reports whether the watch covers all shards that are held. The caller holds the lock.
func (d *division) complete() bool {
	for _, covered := range d.held {
		if !covered {
			return false
		}
	}
	return true
}

// notice makes [controller.followShards] look at the shards.
func (d *division) notice() {
	select {
	case d.changed <- struct{}{}:
	default: // it is going to see this change, too
	}
}

// Take implements [shards.Work].
func (c *controller) Take(shard int) {
	c.division.mu.Lock()
	defer c.division.mu.Unlock()
	c.division.held[shard] = false
	c.gaining.Store(true)
	c.division.notice()
}

// Leave implements [shards.Work]. The drivers of the shard end without a further write.
func (c *controller) Leave(ctx context.Context, shard int) {
	defer c.division.notice()
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

// followShards watches the graphs of the shards that are held, until ctx is done.
func (c *controller) followShards(ctx context.Context) {
	store, selector, stop := &graphStore{c: c}, "", func() {}
	defer func() { stop() }()
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.division.changed:
		}
		c.leading.Store(true)
		select { // several shards change together
		case <-ctx.Done():
		case <-time.After(share.MinPause):
		}
		c.selectObjects()
		c.division.mu.Lock()
		same := c.division.complete() && c.Shards.Selector(slices.Sorted(maps.Keys(c.division.held))) == selector
		c.division.mu.Unlock()
		if same {
			continue
		}
		stop()
		stop = func() {}
		c.division.mu.Lock()
		held := slices.Sorted(maps.Keys(c.division.held))
		for _, shard := range held {
			c.division.held[shard] = true
		}
		c.division.mu.Unlock()
		selector = c.Shards.Selector(held)
		if len(held) == 0 {
			c.share.Hold(false) // the requests of graphs that are being given up end
			continue
		}
		watching, cancel := context.WithCancel(ctx)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			c.watchGraphs(watching, store, selector)
		}()
		stop = func() {
			cancel()
			<-ended
		}
	}
}

// claimInterval is how often namespaces are looked for whose graphs of other replicas have to be
// watched.
const claimInterval = time.Second

// watchClaims watches the graphs of other replicas in the namespaces in which an object leaves a
// graph of this one, if the watch of its own graphs doesn't report them. So they take such an
// object over before its grace period ends.
func (c *controller) watchClaims(ctx context.Context) {
	watches := map[string]context.CancelFunc{}
	for ctx.Err() == nil {
		leaving := map[string]bool{}
		if c.Shards.Selector([]int{0}) != "" {
			leaving = c.share.LeavingIn()
			maps.Copy(leaving, c.destinations.leavingIn())
		}
		for namespace := range leaving {
			if watches[namespace] == nil {
				watching, cancel := context.WithCancel(ctx)
				watches[namespace] = cancel
				go c.reflect(watching, c.graphs.ListWatch(namespace, c.selector(), "", func(bool) {}), claimStore{c})
			}
		}
		for namespace, cancel := range watches {
			if !leaving[namespace] {
				cancel()
				delete(watches, namespace)
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(claimInterval):
		}
	}
}

// claimStore is the store of the reflector of graphs of other replicas. It stores nothing.
type claimStore struct{ c *controller }

// Add implements [cache.ReflectorStore].
func (s claimStore) Add(obj any) error { return s.Update(obj) }

// Update implements [cache.ReflectorStore].
func (s claimStore) Update(obj any) error {
	s.c.division.mu.Lock()
	defer s.c.division.mu.Unlock()
	rg := obj.(*v1alpha1.ResourceGraph)
	if _, held := s.c.division.held[s.c.Shards.Of(rg.UID)]; !held {
		s.c.claimElsewhere(rg)
	}
	return nil
}

// Delete implements [cache.ReflectorStore].
func (s claimStore) Delete(any) error { return nil }

// Replace implements [cache.ReflectorStore].
func (s claimStore) Replace(list []any, _ string) error {
	for _, obj := range list {
		_ = s.Update(obj) // returns no error
	}
	return nil
}

// Resync implements [cache.ReflectorStore].
func (s claimStore) Resync() error { return nil }

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
