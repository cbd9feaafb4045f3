package controller

import (
	"errors"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// offline is a controller without a cluster.
func offline() *controller {
	return &controller{
		Options: Options{Metrics: nobody{}, Resync: time.Hour}, hub: newHub(nil, time.Hour), pool: newPool(1), log: logr.Discard(),
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
	r.job(func() func() { panic("no such field") })
	if c.queue.Len() == 0 {
		c.pool.drain(time.Minute)
	}
	before := time.Now()
	for _, what := range d.news {
		what()
	}
	if !r.over || r.flying != 0 || !d.retryAt.After(before) {
		t.Errorf("over %t, %d under way, tried again at %v", r.over, r.flying, d.retryAt)
	}
}

// Watches of kinds that aren't there ask for them seldom enough together, however
// many they are; one of a few soon sees when its kind is there.
func TestMissingKinds(t *testing.T) {
	const most = 15 // requests a second of all
	for _, missing := range []int{1, 19, 20, 100, 1000, 100_000} {
		pause := missingPause(maxPause, missing)
		if rate := float64(missing) / pause.Seconds(); rate > most {
			t.Errorf("%d kinds, each asked for every %v: %.1f requests a second", missing, pause, rate)
		}
		if missing < fewMissing && pause > maxMissing {
			t.Errorf("%d kinds are asked for every %v", missing, pause)
		}
	}
	c := offline()
	c.hub.start(t.Context())
	w := &watcher{hub: c.hub, scope: scope{name: "x"}, cancel: func() {}, drivers: map[*driver]bool{}}
	d := c.driver(types.NamespacedName{Name: "web"})
	d.watching, w.drivers[d], c.hub.watchers[w.scope] = []*watcher{w}, true, w
	if first, again := w.miss(), w.miss(); first != 1 || again != 1 {
		t.Errorf("one watch counts as %d, and then %d", first, again)
	}
	c.hub.leave(d)
	if w.miss(); c.hub.missing != 0 {
		t.Errorf("%d watches of kinds that aren't there, after the last ended", c.hub.missing)
	}
}

// An account is known as long as a graph is executed as it.
func TestIdentitiesAreForgotten(t *testing.T) {
	c := offline()
	c.identities = newIdentities(nil)
	web, shop := c.driver(types.NamespacedName{Namespace: "shop", Name: "web"}), c.driver(types.NamespacedName{Namespace: "shop", Name: "shop"})
	knows := func(name string) bool { return c.identities.known[account{"shop", name}] != nil }
	for _, d := range []*driver{web, shop} {
		c.identities.of(account{"shop", "pequod"})
		d.actAs("pequod")
	}
	c.identities.of(account{"shop", "other"})
	web.actAs("other")
	if !knows("pequod") || !knows("other") {
		t.Errorf("known: %v", c.identities.known)
	}
	web.actAs("")
	shop.actAs("")
	if knows("pequod") || knows("other") || len(c.identities.users) != 0 {
		t.Errorf("known without a graph: %v, %v", c.identities.known, c.identities.users)
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
