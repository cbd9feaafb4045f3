package sink

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/pequod-io/pequod/actions/history"
)

// maxGone is the number of deleted objects whose rows are kept while the database is away.
const maxGone = 1000

// table stores the rows of one kind of objects in one table. The functions make rows of objects
// and write them. last and missed are nil if no row can be missing before another one.
type table[T client.Object, R any] struct {
	Options
	name   string
	log    logr.Logger
	client client.Client
	empty  func() T
	rows   func(T) []R
	ended  func(R) time.Time
	mark   func(R) history.Mark
	last   func(ctx context.Context, uid string) (history.Mark, bool, error)
	missed func(history.Mark, []R) int
	write  func(context.Context, []R) (int, error)

	// circuit is shared by the tables, and queue is that of the controller.
	circuit *circuit
	queue   workqueue.TypedRateLimitingInterface[reconcile.Request]

	mu    sync.Mutex
	gone  map[types.NamespacedName][]T // deleted objects whose rows aren't stored yet
	kept  int                          // number of objects in gone
	marks map[types.UID]history.Mark   // the last stored row of an object
}

// handler queues objects. It keeps the last state of a deleted one.
func (t *table[T, R]) handler() handler.TypedEventHandler[T, reconcile.Request] {
	t.gone, t.marks = map[types.NamespacedName][]T{}, map[types.UID]history.Mark{}
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	return handler.TypedFuncs[T, reconcile.Request]{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[T], q queue) { q.Add(request(e.Object)) },
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[T], q queue) { q.Add(request(e.ObjectNew)) },
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[T], q queue) {
			t.keep(e.Object)
			q.Add(request(e.Object))
		},
	}
}

func request(obj client.Object) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKeyFromObject(obj)}
}

// keep keeps a deleted object until its rows are stored. Beyond a limit its rows count as missed.
func (t *table[T, R]) keep(obj T) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.kept >= maxGone {
		t.Metrics.Missed(t.name, len(t.unstored(obj)))
		delete(t.marks, obj.GetUID())
		return
	}
	key := client.ObjectKeyFromObject(obj)
	t.gone[key] = append(t.gone[key], obj)
	t.kept++
}

// enqueue implements requests.
func (t *table[T, R]) enqueue(of types.NamespacedName) {
	t.queue.Add(reconcile.Request{NamespacedName: of})
}

// Reconcile stores the rows of an object, and those of deleted ones of the same name. While the
// database is away, it only has the object wait.
func (t *table[T, R]) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	w := waiter{t, req.NamespacedName}
	if !t.circuit.admit(w) {
		return reconcile.Result{}, nil
	}
	used, err := t.storeAll(ctx, req.NamespacedName)
	var rejected *RejectedError
	switch {
	case !used:
		t.circuit.unused(w)
		return reconcile.Result{}, err
	case err == nil:
		t.circuit.succeeded()
		return reconcile.Result{}, nil
	case errors.As(err, &rejected):
		// The database is there, and rejects these rows only.
		t.circuit.succeeded()
		t.Metrics.Failed(t.name)
		return reconcile.Result{}, err
	case ctx.Err() != nil:
		return reconcile.Result{}, nil // the program ends
	}
	// An administrator repairs the database, and the objects have no part in it.
	t.Metrics.Failed(t.name)
	t.log.Error(err, "rows can't be stored; all objects wait, and one tries again within a minute")
	t.circuit.failed(w)
	return reconcile.Result{}, nil
}

// storeAll stores the rows of the objects of a name. used is set if the database was asked.
func (t *table[T, R]) storeAll(ctx context.Context, of types.NamespacedName) (used bool, err error) {
	t.mu.Lock()
	objects := t.gone[of]
	t.mu.Unlock()
	for _, obj := range objects {
		asked, err := t.store(ctx, obj)
		used = used || asked
		if err != nil {
			return used, err
		}
		t.forget(of, obj)
	}
	obj := t.empty()
	if err := t.client.Get(ctx, of, obj); err != nil {
		return used, client.IgnoreNotFound(err)
	}
	asked, err := t.store(ctx, obj)
	return used || asked, err
}

// forget drops a deleted object whose rows are stored.
func (t *table[T, R]) forget(key types.NamespacedName, obj T) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.marks, obj.GetUID())
	t.kept--
	if t.gone[key] = t.gone[key][1:]; len(t.gone[key]) == 0 {
		delete(t.gone, key)
	}
}

// unstored returns the rows of an object that aren't known to be stored, and are younger than
// the retention. The mutex is held.
func (t *table[T, R]) unstored(obj T) []R {
	last, known := t.marks[obj.GetUID()]
	var rows []R
	for _, r := range t.rows(obj) {
		switch {
		case t.Retention > 0 && t.ended(r).Before(t.Now().Add(-t.Retention)):
		case known && !t.mark(r).After(last):
		default:
			rows = append(rows, r)
		}
	}
	return rows
}

// store stores the rows of an object that the database may lack. asked is set if there are any.
func (t *table[T, R]) store(ctx context.Context, obj T) (asked bool, err error) {
	t.mu.Lock()
	rows := t.unstored(obj)
	last, known := t.marks[obj.GetUID()]
	t.mu.Unlock()
	if len(rows) == 0 {
		return false, nil
	}
	if t.last != nil && !known {
		// The process has just started: what happened before is in the database only.
		if last, known, err = t.last(ctx, string(obj.GetUID())); err != nil {
			return true, err
		}
	}
	n, err := t.write(ctx, rows)
	if err != nil {
		return true, err
	}
	t.Metrics.Stored(t.name, n)
	if known && t.missed != nil {
		if missed := t.missed(last, rows); missed > 0 {
			t.Metrics.Missed(t.name, missed)
			t.log.Info("executions left the status before they were stored", "namespace", obj.GetNamespace(), "name", obj.GetName(), "executions", missed)
		}
	}
	for _, r := range rows {
		if m := t.mark(r); m.After(last) {
			last = m
		}
	}
	t.mu.Lock()
	t.marks[obj.GetUID()] = last
	t.mu.Unlock()
	return true, nil
}
