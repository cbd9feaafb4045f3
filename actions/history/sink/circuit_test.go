package sink

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/pequod-io/pequod/actions/history"
)

// outage is a store of Events that can be away, and rejects the rows of one object.
type outage struct {
	Store
	away   bool
	reject string
	asked  int
	stored map[string]bool
}

func (o *outage) WriteEvents(_ context.Context, rows []history.Event) (int, error) {
	o.asked++
	switch {
	case o.away:
		return 0, errors.New("connection refused")
	case rows[0].UID == o.reject:
		return 0, &RejectedError{Err: errors.New("invalid byte sequence")}
	}
	for _, r := range rows {
		o.stored[r.UID] = true
	}
	return len(rows), nil
}

// outageTest has a table of Events whose pauses end when the test says so.
type outageTest struct {
	*testing.T
	db     *outage
	table  *table[*eventsv1.Event, history.Event]
	pauses []time.Duration
	resume func()
	errs   []error
}

func newOutage(t *testing.T, count int) *outageTest {
	scheme := runtime.NewScheme()
	if err := eventsv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	b := fake.NewClientBuilder().WithScheme(scheme)
	for i := range count {
		e := &eventsv1.Event{}
		e.Namespace, e.Name, e.UID = "shop", fmt.Sprint(i), types.UID(fmt.Sprint(i))
		b.WithObjects(e)
	}
	o := &outageTest{T: t, db: &outage{stored: map[string]bool{}}}
	shared := newCircuit()
	shared.after = func(d time.Duration, f func()) { o.pauses, o.resume = append(o.pauses, d), f }
	o.table = eventsTable(Options{Store: o.db, Metrics: &counts{}, Now: time.Now}, shared, b.Build())
	o.table.log = logr.Discard()
	o.table.handler()
	o.table.queue = workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	t.Cleanup(o.table.queue.ShutDown)
	for i := range count {
		o.change(fmt.Sprint(i))
	}
	return o
}

// change queues an object, as an update does.
func (o *outageTest) change(name string) {
	o.table.enqueue(types.NamespacedName{Namespace: "shop", Name: name})
}

// drain reconciles until the queue is empty.
func (o *outageTest) drain() {
	for o.table.queue.Len() > 0 {
		req, _ := o.table.queue.Get()
		if _, err := o.table.Reconcile(o.Context(), req); err != nil {
			o.errs = append(o.errs, err)
		}
		o.table.queue.Done(req)
	}
}

// TestOutage has the database away while many objects change. It is asked once after each pause,
// whatever changes meanwhile, and everything is stored as soon as it is back.
func TestOutage(t *testing.T) {
	t.Parallel()
	const count = 100
	o := newOutage(t, count)
	o.db.away = true
	o.drain()
	for i := range 10 {
		if o.db.asked != i+1 || len(o.pauses) != i+1 {
			t.Fatalf("the database was asked %d times before pause %d", o.db.asked, len(o.pauses))
		}
		for name := range count {
			o.change(fmt.Sprint(name))
		}
		o.drain()
		o.resume()
		o.drain()
	}
	if want := []time.Duration{1, 2, 4, 8, 16, 32, 60, 60, 60, 60, 60}; !slices.EqualFunc(o.pauses, want, func(a, b time.Duration) bool { return a == b*time.Second }) {
		t.Errorf("pauses: %v", o.pauses)
	}
	o.db.away, o.db.asked = false, 0
	o.resume()
	o.drain()
	if len(o.db.stored) != count || o.db.asked != count || len(o.errs) != 0 {
		t.Errorf("%d objects are stored with %d requests, errors: %v", len(o.db.stored), o.db.asked, o.errs)
	}
	// The next outage begins with a short pause.
	o.db.away = true
	o.table.marks = map[types.UID]history.Mark{}
	o.change("5")
	o.drain()
	if got := o.pauses[len(o.pauses)-1]; got != firstPause {
		t.Errorf("the first pause of another outage is %s", got)
	}
}

// TestNothingToStore has the object that tries have nothing to store, or be gone. The next one
// tries at once, and if there is none, whichever comes.
func TestNothingToStore(t *testing.T) {
	t.Parallel()
	o := newOutage(t, 1)
	o.db.away = true
	o.change("absent")
	o.drain()
	o.change("gone")
	o.change("absent")
	o.drain()
	if o.db.asked != 1 {
		t.Fatalf("the database was asked %d times", o.db.asked)
	}
	// Those that wait are 0, gone and absent.
	o.table.client = fake.NewClientBuilder().WithScheme(o.table.client.Scheme()).Build()
	o.resume()
	o.drain()
	if o.table.circuit.open || o.db.asked != 1 {
		t.Errorf("open: %t, the database was asked %d times", o.table.circuit.open, o.db.asked)
	}
}

// TestRejected has rows that the database rejects. Others don't wait for them.
func TestRejected(t *testing.T) {
	t.Parallel()
	o := newOutage(t, 10)
	o.db.reject = "3"
	o.drain()
	if len(o.db.stored) != 9 || len(o.errs) != 1 || len(o.pauses) != 0 {
		t.Errorf("%d objects are stored, errors: %v, pauses: %v", len(o.db.stored), o.errs, o.pauses)
	}
}
