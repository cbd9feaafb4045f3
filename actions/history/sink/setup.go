package sink

import (
	"cmp"
	"context"
	"math"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/pequod-io/pequod/actions/history"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// Store is where rows are written. The errors have no secrets.
type Store interface {
	WriteRevisions(context.Context, []history.Revision) (int, error)
	WriteRuns(context.Context, []history.Run) (int, error)
	WriteEvents(context.Context, []history.Event) (int, error)
	LastRevision(ctx context.Context, uid string) (history.Mark, bool, error)
	LastRun(ctx context.Context, uid string) (history.Mark, bool, error)
	Prune(ctx context.Context, before time.Time) (int, error)
}

// RejectedError is the error of a [Store] about rows that it rejects although it is there.
type RejectedError = history.RejectedError

// Recorder counts what happens to rows.
type Recorder interface {
	// Stored records new rows of a table: revisions, runs or events.
	Stored(table string, rows int)
	// Missed records rows that are lost: they left the cluster before they were stored.
	Missed(table string, rows int)
	// Failed records that rows of a table could not be stored, and will be tried again.
	Failed(table string)
}

// Options configure [Setup]. Store and Metrics are required.
type Options struct {
	Store   Store
	Metrics Recorder
	// Retention is how long rows are kept after their end; 0 means forever.
	Retention time.Duration
	// Now returns the time. nil is the system's clock.
	Now func() time.Time
}

// Setup adds the controllers to a manager, one for each table. Its cache must have what package
// observe selects.
func Setup(mgr manager.Manager, o Options) error {
	if o.Now == nil {
		o.Now = time.Now
	}
	shared := newCircuit()
	graphs := &table[*v1alpha1.ResourceGraph, history.Revision]{
		Options: o, circuit: shared, name: "revisions", client: mgr.GetClient(), empty: func() *v1alpha1.ResourceGraph { return &v1alpha1.ResourceGraph{} },
		rows: history.Revisions, ended: func(r history.Revision) time.Time { return r.FinishedAt }, mark: history.Revision.Mark,
		last: o.Store.LastRevision, missed: history.MissedRevisions, write: o.Store.WriteRevisions,
	}
	actions := &table[*v1alpha1.Action, history.Run]{
		Options: o, circuit: shared, name: "runs", client: mgr.GetClient(), empty: func() *v1alpha1.Action { return &v1alpha1.Action{} },
		rows: history.Runs, ended: func(r history.Run) time.Time { return r.FinishedAt }, mark: history.Run.Mark,
		last: o.Store.LastRun, missed: history.MissedRuns, write: o.Store.WriteRuns,
	}
	return cmp.Or(add(mgr, graphs), add(mgr, actions), add(mgr, eventsTable(o, shared, mgr.GetClient())), mgr.Add(pruner(o)))
}

// eventsTable returns the table of Events. Each has one row, whose count grows.
func eventsTable(o Options, shared *circuit, c client.Client) *table[*eventsv1.Event, history.Event] {
	return &table[*eventsv1.Event, history.Event]{
		Options: o, circuit: shared, name: "events", client: c, empty: func() *eventsv1.Event { return &eventsv1.Event{} },
		rows:  func(e *eventsv1.Event) []history.Event { return []history.Event{history.EventOf(e)} },
		ended: func(e history.Event) time.Time { return e.LastAt }, write: o.Store.WriteEvents, mark: history.Event.Mark,
	}
}

// add adds the controller of a table to a manager.
func add[T client.Object, R any](mgr manager.Manager, t *table[T, R]) error {
	t.log = mgr.GetLogger().WithName("history").WithValues("table", t.name)
	c, err := controller.New("history-"+t.name, mgr, controller.Options{
		Reconciler: t, MaxConcurrentReconciles: 1, SkipNameValidation: new(true),
		// The kinds may be installed later.
		CacheSyncTimeout: math.MaxInt64,
		RateLimiter:      workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstPause, lastPause),
	})
	if err != nil {
		return err
	}
	err = c.Watch(source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		t.queue = queue
		return nil
	}))
	return cmp.Or(err, c.Watch(source.Kind(mgr.GetCache(), t.empty(), t.handler())))
}

// pruneEvery is the time between two deletions of old rows.
const pruneEvery = time.Hour

// pruner deletes old rows. Only the leader runs it.
func pruner(o Options) manager.RunnableFunc {
	return func(ctx context.Context) error {
		for o.Retention > 0 {
			if _, err := o.Store.Prune(ctx, o.Now().Add(-o.Retention)); err != nil && ctx.Err() == nil {
				o.Metrics.Failed("old rows")
			}
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(pruneEvery):
			}
		}
		return nil
	}
}
