package controller

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/controller/share"
)

// offline is a controller without a cluster.
func offline() *controller {
	return &controller{
		Options: Options{Metrics: nobody{}, Resync: time.Hour}, share: share.New(share.Options{Requests: 1, Log: logr.Discard()}), log: logr.Discard(),
		drivers: map[types.NamespacedName]*driver{}, now: time.Now,
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]()),
	}
}

// A panic over one graph is that graph's trouble, and is tried again later.
func TestPanic(t *testing.T) {
	c := offline()
	d := c.driver(types.NamespacedName{Namespace: "shop", Name: "web"})
	r := &run{d: d, goal: goal{verb: execute}}
	d.run = r
	r.job(func(context.Context) func() { panic("no such field") })
	go c.share.Run(t.Context(), time.Minute)
	c.queue.Get() // what the job left wakes the driver
	before := time.Now()
	for _, what := range d.news {
		what()
	}
	if !r.over || r.flying != 0 || !d.retryAt.After(before) {
		t.Errorf("over %t, %d under way, tried again at %v", r.over, r.flying, d.retryAt)
	}
}

// The history has a bound, and the newest first.
func TestHistoryIsBounded(t *testing.T) {
	r := &run{}
	for i := range 3 * v1alpha1.MaxHistory {
		next := r.status.DeepCopy()
		r.revision = &v1alpha1.Revision{Revision: int64(i + 1), Hash: "h", Result: v1alpha1.GraphCompleted}
		r.history(next)
		r.history(next) // the same end of the same revision is told once
		r.status = *next
	}
	if got := r.status.History; len(got) != v1alpha1.MaxHistory || got[0].Revision != 3*v1alpha1.MaxHistory {
		t.Errorf("%d revisions, the first is %+v", len(got), got[0])
	}
}

// A run that was begun because of drift, and ended because the graph was paused,
// is begun anew when the pause is over before anything was written of it: nobody
// looks after the graph otherwise.
func TestInterruptedRunIsBegunAnew(t *testing.T) {
	c := offline()
	d := c.driver(types.NamespacedName{Namespace: "shop", Name: "web"})
	h := head{uid: "1", generation: 1, finalizer: true}
	g := d.goal(h)
	d.settled, d.woken = g, true
	if _, begun := d.begin(g, h, time.Now()); !begun {
		t.Fatal("drift is no reason to begin")
	}
	d.run = nil // as step has it when the goal has changed, and nothing is under way
	if _, begun := d.begin(g, h, time.Now()); !begun {
		t.Error("the interrupted run isn't begun anew")
	}
}

// What failed is tried again after a while, but at once when somebody changes the
// graph, deletes it, or asks for it.
func TestAskedForWhileItWaits(t *testing.T) {
	now := time.Now()
	before := head{uid: "1", generation: 1, finalizer: true}
	for name, test := range map[string]struct {
		edit  func(*head)
		begun bool
	}{
		"nothing changed": {func(*head) {}, false},
		"another spec":    {func(h *head) { h.generation++ }, true},
		"deleted":         {func(h *head) { h.deleting = true }, true},
		"asked for":       {func(h *head) { h.requested = "now" }, true},
	} {
		d := offline().driver(types.NamespacedName{Namespace: "shop", Name: "web"})
		if _, begun := d.begin(d.goal(before), before, now); !begun {
			t.Fatal("a graph that is new isn't begun")
		}
		d.run.complain(errors.New("no answer"), now)
		d.run = nil
		after := before
		test.edit(&after)
		if _, begun := d.begin(d.goal(after), after, now.Add(time.Millisecond)); begun != test.begun {
			t.Errorf("%s: begun %t; want %t", name, begun, test.begun)
		}
	}
}
