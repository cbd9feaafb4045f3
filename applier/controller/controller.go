package controller

import (
	"context"
	"errors"
	"maps"
	"math"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// controller owns the drivers of all graphs. It implements the Reconciler of
// controller-runtime.
type controller struct {
	services
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]

	leading atomic.Bool  // this process executes graphs
	listed  atomic.Bool  // the graphs have been listed
	gaining atomic.Bool  // the graphs of shards that were taken are being listed
	steps   atomic.Int64 // of all drivers so far
	// starting counts the drivers that are starting.
	starting atomic.Int64

	division division

	mu        sync.Mutex
	drivers   map[types.NamespacedName]*driver
	forgotten sync.Cond // with mu: a driver was removed, or may have got another graph
}

// ready is a readiness check. It succeeds when the controller knows the graphs,
// and in a replica that executes none.
func (c *controller) ready(*http.Request) error {
	if c.leading.Load() && !c.listed.Load() {
		return errors.New("the ResourceGraphs aren't listed yet")
	}
	return nil
}

// start is called when this process has become the leader, or divides the graphs with others.
func (c *controller) start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	c.queue = queue
	if c.Shards != nil {
		go c.followShards(ctx)
		go c.watchClaims(ctx)
	} else {
		c.leading.Store(true)
		go c.watchGraphs(ctx, &graphStore{c: c}, "")
	}
	if c.Operator != nil && c.Operator.Changed != nil {
		go c.retryRefused(ctx)
	}
	return nil
}

// retryRefused tries the graphs again that are stalled because their accounts may not be
// used, whenever that may have changed.
func (c *controller) retryRefused(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.Operator.Changed:
		}
		for _, d := range c.all() {
			d.inbox.post(func() {
				if d.awaits == accountAllowed {
					d.restart()
				}
			})
		}
	}
}

// shutdownTimeout is how long requests in flight may take when the process is
// asked to end. It must be shorter than the manager's graceful shutdown timeout.
const shutdownTimeout = 10 * time.Second

// runShared makes the shared services work until ctx is done and the requests
// in flight have ended.
func (c *controller) runShared(ctx context.Context) error {
	if c.AtRest != nil {
		go c.noticeRest(ctx)
	}
	go c.rights.run(ctx)
	c.destinations.begin(ctx)
	if c.Shards != nil {
		return c.runSharded(ctx)
	}
	c.share.Run(ctx, shutdownTimeout)
	return nil
}

// Reconcile hands a step of a graph's driver over to the shared pool of steps,
// which serves namespaces in turn: the workers of controller-runtime would be
// occupied by the namespace with the most graphs. Its context isn't used: requests
// outlive the step, and get a context from [share.Share.Run].
func (c *controller) Reconcile(_ context.Context, request reconcile.Request) (reconcile.Result, error) {
	if d := c.find(request.NamespacedName); d != nil && d.turn.ask() {
		c.queueStep(d)
	}
	return reconcile.Result{}, nil
}

// queueStep queues a step of a driver.
func (c *controller) queueStep(d *driver) {
	c.share.Step(d, func() {
		d.turn.begin()
		c.step(d)
		if d.turn.end() {
			c.queueStep(d)
		}
		c.Metrics.Waiting(c.share.Waiting())
	})
}

// step steps a driver, and schedules its next step.
func (c *controller) step(d *driver) {
	c.steps.Add(1)
	began := c.now()
	s := d.step(began)
	now := c.now()
	if d.starting && !d.preparing() {
		d.starting = false
		c.starting.Add(-1)
	}
	result := "success"
	if s.failed {
		result = "error"
	}
	c.Metrics.Reconciled(d.key.Namespace, d.key.Name, result, now.Sub(began))
	switch {
	case s.ended:
		c.Metrics.Forget(d.key.Namespace, d.key.Name)
		c.forget(d)
	case !s.wake.IsZero():
		c.queue.AddAfter(reconcile.Request{NamespacedName: d.key}, max(c.Clock.Until(s.wake), time.Millisecond))
	}
}

// find returns the driver of a graph, or nil.
func (c *controller) find(key types.NamespacedName) *driver {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.drivers[key]
}

// all returns the drivers of all graphs.
func (c *controller) all() map[types.NamespacedName]*driver {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.drivers)
}

// driver returns the driver of a graph, which it creates if there is none.
func (c *controller) driver(key types.NamespacedName) *driver {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.drivers[key]
	if d == nil {
		d = newDriver(&c.services, key)
		d.inbox.wake = func() { c.queue.Add(reconcile.Request{NamespacedName: d.key}) }
		if d.starting = !c.listed.Load() || c.gaining.Load(); d.starting {
			c.starting.Add(1)
		}
		c.drivers[key] = d
	}
	return d
}

// startingGraphs returns the number of graphs that were there when the process started, or took
// their shard, and whose first run hasn't read its prerequisites yet. There are many until all
// are listed.
func (c *controller) startingGraphs() int {
	if !c.listed.Load() || c.gaining.Load() {
		return math.MaxInt
	}
	return int(c.starting.Load())
}

// forget removes the driver of a deleted graph, unless a graph of that name was
// created meanwhile: then the driver continues with that one.
func (c *controller) forget(d *driver) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if d.inbox.close() {
		delete(c.drivers, d.key)
		c.rights.drop(d)
		c.forgotten.Broadcast()
	}
}
