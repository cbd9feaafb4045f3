package controller

import (
	"context"
	"errors"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/controller/share"
	"github.com/pequod-io/pequod/inventory"
)

// Options are those of the controller. The zero value works, for graphs that
// name their service account.
type Options struct {
	// Concurrent is how many graphs are stepped at once; 0 means 4. Eight times
	// as many requests are under way at once.
	Concurrent int
	// Resync is how often graphs that failed for good are tried again, and
	// objects are read that can't be watched; 0 means 5 minutes.
	Resync time.Duration
	// DefaultServiceAccount is the account of a graph that names none. If it is
	// empty, such a graph isn't executed.
	DefaultServiceAccount string
	// NoCrossNamespace refuses objects in other namespaces than their graph's.
	NoCrossNamespace bool
	// Namespace is the only one whose graphs are executed; empty means all.
	Namespace string
	// Metrics is told what happens, nil for nobody.
	Metrics Recorder
}

// Setup adds the controller to a manager, whose scheme must know ResourceGraphs.
// Of the manager's cache it makes no use.
func Setup(mgr manager.Manager, o Options) error {
	if o.Concurrent <= 0 {
		o.Concurrent = 4
	}
	if o.Resync <= 0 {
		o.Resync = 5 * time.Minute
	}
	if o.Metrics == nil {
		o.Metrics = nobody{}
	}
	if !mgr.GetScheme().Recognizes(v1alpha1.GroupVersion.WithKind("ResourceGraph")) {
		return errors.New("the manager's scheme doesn't know ResourceGraphs: use v1alpha1.AddToScheme")
	}
	client, err := cluster.New(mgr.GetConfig())
	if err != nil {
		return err
	}
	graphs, err := graphClient(mgr.GetConfig())
	if err != nil {
		return err
	}
	c := &controller{
		Options: o, own: client, graphs: graphs, log: mgr.GetLogger().WithName("resourcegraph"),
		events: mgr.GetEventRecorder("pequod-applier"), drivers: map[types.NamespacedName]*driver{}, now: time.Now,
	}
	c.share = share.New(share.Options{
		Client: client, Requests: 8 * o.Concurrent, RetryRefused: o.Resync, Log: c.log,
		Pending: func() int { return c.queue.Len() }, Listings: c.listings,
	})
	made, err := ctrl.New("resourcegraph", mgr, ctrl.Options{
		MaxConcurrentReconciles: o.Concurrent, Reconciler: c, SkipNameValidation: new(true),
	})
	if err != nil {
		return err
	}
	if err := made.Watch(source.Func(c.start)); err != nil {
		return err
	}
	if err := mgr.AddReadyzCheck("graphs", c.ready); err != nil {
		return err
	}
	return mgr.Add(manager.RunnableFunc(c.runShared))
}

// ready says whether the controller does its work: a replica that isn't the
// leader has none.
func (c *controller) ready(*http.Request) error {
	if c.leads.Load() && !c.listed.Load() {
		return errors.New("the ResourceGraphs aren't listed yet")
	}
	return nil
}

// start is called when this process has become the leader.
func (c *controller) start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	c.queue = queue
	c.leads.Store(true)
	go c.follow(ctx)
	return nil
}

// shutdownTimeout is how long requests in flight may take when the process is
// asked to end. It is shorter than the manager's graceful shutdown timeout.
const shutdownTimeout = 10 * time.Second

// runShared makes the shared services work until ctx is done and the requests
// in flight have ended.
func (c *controller) runShared(ctx context.Context) error {
	c.share.Run(ctx, shutdownTimeout)
	return nil
}

func (c *controller) find(key types.NamespacedName) *driver {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.drivers[key]
}

// driver is the one of a graph, made if there is none.
func (c *controller) driver(key types.NamespacedName) *driver {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.drivers[key]
	if d == nil {
		d = &driver{c: c, key: key, owner: inventory.Owner{Namespace: key.Namespace, Name: key.Name}}
		c.drivers[key] = d
	}
	return d
}

// forget ends a driver that is over, unless there is news by now of a graph of that
// name: then it goes on with that one.
func (c *controller) forget(d *driver) {
	c.mu.Lock()
	defer c.mu.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.gone && len(d.news) == 0 {
		d.forgotten = true
		delete(c.drivers, d.key)
	}
	d.over = false
}

// Reconcile steps one graph.
func (c *controller) Reconcile(_ context.Context, request reconcile.Request) (reconcile.Result, error) {
	d := c.find(request.NamespacedName)
	if d == nil {
		return reconcile.Result{}, nil
	}
	began := c.now()
	wake := d.step(began)
	now := c.now()
	result := "success"
	if d.failing {
		result = "error"
	}
	c.Metrics.Reconciled(d.key.Namespace, d.key.Name, result, now.Sub(began))
	if d.over {
		c.Metrics.Forget(d.key.Namespace, d.key.Name)
		c.forget(d)
		return reconcile.Result{}, nil
	}
	if wake.IsZero() {
		return reconcile.Result{}, nil
	}
	return reconcile.Result{RequeueAfter: max(wake.Sub(now), time.Millisecond)}, nil
}
