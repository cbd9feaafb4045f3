package controller

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/controller/graphs"
	"github.com/pequod-io/pequod/applier/controller/share"
	"github.com/pequod-io/pequod/inventory/configmap"
	"github.com/pequod-io/pequod/inventory/stored"
)

// requestsPerWorker is the number of requests that may be in flight for each
// graph that is stepped at once: steps are short, requests are not. A namespace
// gets three quarters of them.
const requestsPerWorker = 11

// Setup adds the controller to a manager, whose scheme must know ResourceGraphs.
// The controller doesn't use the manager's cache.
func Setup(mgr manager.Manager, o Options) error {
	if o.Concurrent <= 0 {
		o.Concurrent = 4
	}
	if o.Resync <= 0 {
		o.Resync = 5 * time.Minute
	}
	if o.ReadTrust <= 0 {
		o.ReadTrust = time.Minute
	}
	if o.Clock == nil {
		o.Clock = systemClock{}
	}
	if o.Metrics == nil {
		o.Metrics = noMetrics{}
	}
	if !mgr.GetScheme().Recognizes(v1alpha1.GroupVersion.WithKind("ResourceGraph")) {
		return errors.New("the manager's scheme doesn't know ResourceGraphs: use v1alpha1.AddGraphsToScheme")
	}
	if o.Shards != nil && o.shared() != nil {
		return errors.New("the graphs of shards can't be shared: they aren't all")
	}
	own, err := cluster.New(mgr.GetConfig())
	if err != nil {
		return err
	}
	graphs, err := graphs.New(mgr.GetConfig(), own)
	if err != nil {
		return err
	}
	c := &controller{drivers: map[types.NamespacedName]*driver{}, services: services{
		Options: o, own: own, graphs: graphs, log: mgr.GetLogger().WithName("resourcegraph"),
		events: mgr.GetEventRecorder(v1alpha1.ApplierProgram), now: o.Clock.Now,
		progress: newProgress(),
	}}
	c.forgotten.L = &c.mu
	c.division = division{changed: make(chan struct{}, 1), held: map[int]bool{}}
	c.share = share.New(share.Options{
		Client: own, Requests: requestsPerWorker * o.Concurrent, Steps: o.Concurrent, RetryRefused: o.Resync, Relist: o.Relist, Now: c.now, Log: c.log,
		Starting: c.startingGraphs, Managed: c.division.managed,
		Listings: c.listings,
		Index: func(ctx context.Context, namespace string, client *cluster.Client) (configmap.Index, error) {
			return stored.New(client.REST()).Index(ctx, namespace)
		},
	})
	c.rights = newRights(own, o, c.now)
	c.destinations = newDestinations(mgr.GetConfig(), c.share)
	built, err := ctrl.New("resourcegraph", mgr, ctrl.Options{
		MaxConcurrentReconciles: 1, Reconciler: c, SkipNameValidation: new(true),
	})
	if err != nil {
		return err
	}
	if err := built.Watch(source.Func(c.start)); err != nil {
		return err
	}
	if err := mgr.AddReadyzCheck("graphs", c.ready); err != nil {
		return err
	}
	return mgr.Add(manager.RunnableFunc(c.runShared))
}
