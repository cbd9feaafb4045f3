package controller

import (
	"context"
	"errors"
	"testing"
	"time"
	"unsafe"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/pequod-io/pequod/applier/controller/share"
	"github.com/pequod-io/pequod/applier/engine"
)

// offline returns a controller without a cluster.
func offline(t *testing.T) *controller {
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	t.Cleanup(queue.ShutDown)
	return &controller{drivers: map[types.NamespacedName]*driver{}, queue: queue, services: services{
		Options: Options{Metrics: noMetrics{}, Resync: time.Hour, Clock: systemClock{}}, log: logr.Discard(), now: time.Now,
		share:    share.New(share.Options{Requests: 100, Steps: 4, Log: logr.Discard()}),
		progress: newProgress(), rights: newRights(nil, Options{}, time.Now),
	}}
}

var webKey = types.NamespacedName{Namespace: "shop", Name: "web"}

// A panic in a job fails only its graph, which is retried later.
func TestPanic(t *testing.T) {
	c := offline(t)
	d := c.driver(webKey)
	r := newRun(&c.services, d, &d.objects, goal{verb: verbExecute}, "", time.Now())
	d.run = r
	r.requests.start(func(context.Context) func() { panic("no such field") })
	go c.share.Run(t.Context(), time.Minute)
	c.queue.Get() // the answer wakes the driver
	before := time.Now()
	for _, post := range d.inbox.take().posts {
		post()
	}
	if !r.ended() || r.busy() || !d.retries.notBefore.After(before) {
		t.Errorf("ended %t, busy %t, retried at %v", r.ended(), r.busy(), d.retries.notBefore)
	}
}

// A run that was begun because of drift, and ended because the graph was paused,
// is begun again when the pause is over, even if nothing was written by it:
// otherwise the drift would stay.
func TestInterruptedRunIsRepeated(t *testing.T) {
	d := offline(t).driver(webKey)
	g := goalOf(seenGraph{uid: "1", generation: 1, finalizer: true}, 0)
	d.retries.goal, d.settled, d.objects.changed = g, true, true
	if _, begun := d.begin(g, "", time.Now()); !begun {
		t.Fatal("drift is no reason to begin")
	}
	d.dropRun() // as step does when the goal has changed, and nothing is in flight
	if _, begun := d.begin(g, "", time.Now()); !begun {
		t.Error("the interrupted run isn't repeated")
	}
}

// There may be thousands of graphs at rest.
func TestDriverIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(driver{}); size > 640 { // a size class of the allocator
		t.Errorf("a driver takes %d bytes", size)
	}
}

// What limits the writes of a graph lasts as long as its request, unless it limits
// nothing when the graph is completed.
func TestDamperOfRequest(t *testing.T) {
	d := offline(t).driver(webKey)
	begin := func(seen seenGraph) *engine.Damper {
		t.Helper()
		if _, begun := d.begin(goalOf(seen, d.restarts), "", time.Now()); !begun {
			t.Fatal("no run begins")
		}
		defer d.dropRun()
		return d.damper()
	}
	first := begin(seenGraph{uid: "1", generation: 1, finalizer: true})
	d.restart()
	if again := begin(seenGraph{uid: "1", generation: 1, finalizer: true}); again != first {
		t.Error("another run for the same request is limited by another damper")
	}
	if another := begin(seenGraph{uid: "1", generation: 2, finalizer: true}); another == first {
		t.Error("a request of a user is limited by what was before")
	}
	d.begin(goalOf(seenGraph{uid: "1", generation: 3, finalizer: true}, d.restarts), "", time.Now())
	d.damper()
	d.completed(nil, time.Time{})
	if d.limits != nil {
		t.Error("a damper that limits nothing is kept at rest")
	}
}

// A failed graph is retried after its backoff, and at once if a client changes
// it, deletes it, or requests a reconciliation.
func TestRequestDuringBackoff(t *testing.T) {
	now := time.Now()
	before := seenGraph{uid: "1", generation: 1, finalizer: true}
	for name, test := range map[string]struct {
		edit  func(*seenGraph)
		begun bool
	}{
		"nothing changed": {func(*seenGraph) {}, false},
		"another spec":    {func(s *seenGraph) { s.generation++ }, true},
		"deleted":         {func(s *seenGraph) { s.deleting = true }, true},
		"requested":       {func(s *seenGraph) { s.requested = "now" }, true},
	} {
		d := offline(t).driver(webKey)
		if _, begun := d.begin(goalOf(before, d.restarts), "", now); !begun {
			t.Fatal("a new graph isn't begun")
		}
		d.run.fail(errors.New("no answer"))
		d.dropRun()
		after := before
		test.edit(&after)
		if _, begun := d.begin(goalOf(after, d.restarts), "", now.Add(time.Millisecond)); begun != test.begun {
			t.Errorf("%s: begun %t; want %t", name, begun, test.begun)
		}
	}
}

// A run whose last status is written ends its phase, so that answers which come
// later don't fail its successor.
func TestLateAnswerOfASettledRun(t *testing.T) {
	d := offline(t).driver(webKey)
	d.begin(goal{verb: verbExecute, uid: "1"}, "", time.Now())
	r := d.run
	r.end()
	d.stalled(noAccountEvent)
	r.fail(errors.New("too late"))
	if d.run != nil || !d.retries.notBefore.IsZero() || !d.settledAt(r.goal) {
		t.Errorf("run %v, retried at %v, settled %t for %+v", d.run, d.retries.notBefore, d.settled, d.retries.goal)
	}
}

// A graph that doesn't become ready is polled less and less often.
func TestPollingSlowsDown(t *testing.T) {
	c := offline(t)
	c.Resync = 5 * time.Minute
	d := c.driver(webKey)
	now := time.Now()
	for _, test := range []struct{ running, want time.Duration }{
		{0, pollInterval},
		{time.Minute, 15 * time.Second},
		{time.Hour, 5 * time.Minute},
	} {
		d.run = &run{began: now.Add(-test.running)}
		if got := d.pollEvery(now); got != test.want {
			t.Errorf("after %v: every %v; want %v", test.running, got, test.want)
		}
	}
	d.run = nil
	if got := d.pollEvery(now); got != c.Resync {
		t.Errorf("without a run: every %v; want %v", got, c.Resync)
	}
}
