package controller

import (
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/controller/share"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
)

// driver executes one graph. One worker at a time steps it; others leave news.
type driver struct {
	c     *controller
	key   types.NamespacedName
	owner inventory.Owner

	mu     sync.Mutex
	head   head
	latest *v1alpha1.ResourceGraph // since the last step
	gone   bool
	news   []func() // to be done by the worker
	// forgotten drivers are told nothing any more.
	forgotten bool

	// The worker's.
	awaiting bool // the account, which doesn't exist
	over     bool // the graph is gone, and nothing is under way
	failing  bool
	run      *run
	graph    *v1alpha1.ResourceGraph // while it is needed
	version  string                  // the newest resourceVersion that is known of it
	bare     bool                    // it was seen without our finalizer
	account  string
	settled  goal // what came to its end
	attempts int  // that failed in a row, to begin or to write the status
	retryAt  time.Time
	tried    goal // by the last attempt
	restarts int

	rest   *engine.Snapshot    // of a graph that is as it should be
	woken  bool                // something happened to it since
	early  []share.Observation // what was seen while there was nobody to judge it
	places []share.Selection   // where its objects are, kind by kind
	polled []share.Selection
	pollAt time.Time
	again  time.Time // when a graph that failed is tried again
}

// Owner implements [share.Graph].
func (d *driver) Owner() inventory.Owner { return d.owner }

// Notify implements [share.Graph].
func (d *driver) Notify(o share.Observation) { d.post(func() { d.observe(o) }) }

func (d *driver) serviceAccount() share.Account {
	return share.Account{Namespace: d.key.Namespace, Name: d.account}
}

// actAs notes the name of the account that the graph is executed as, "" for none
// any more.
func (d *driver) actAs(name string) {
	if name == d.account {
		return
	}
	if d.account != "" {
		d.c.share.Drop(d.serviceAccount())
	}
	if d.account = name; name != "" {
		d.c.share.Retain(d.serviceAccount())
	}
}

// goal is what is to be done for a graph. Whenever it changes, what is under way
// is brought to its end and something else begins.
type goal struct {
	verb       verb
	uid        types.UID
	generation int64
	requested  string
	restarts   int
}

// asks says whether another goal is the same but for how often it was begun.
func (g goal) asks(other goal) bool {
	g.restarts = other.restarts
	return g == other
}

type verb string

const (
	execute verb = "execute"
	remove  verb = "remove" // delete the objects, then the graph
	abandon verb = "abandon"
	halt    verb = "halt" // leave everything as it is
	nothing verb = ""
)

func (d *driver) goal(h head) goal {
	g := goal{uid: h.uid, generation: h.generation, requested: h.requested, restarts: d.restarts}
	switch {
	case h.deleting && !h.finalizer:
		g.verb = nothing
	case h.deleting && h.halted:
		g.verb = abandon
	case h.deleting:
		g.verb = remove
	case h.halted:
		g.verb = halt
	default:
		g.verb = execute
	}
	if g.verb == remove || g.verb == abandon {
		g.generation, g.requested = 0, "" // whatever the spec says
	}
	return g
}

// step takes in the news and does what is to be done. It returns when to be
// stepped again if nothing happens before, zero for not until something does.
func (d *driver) step(now time.Time) time.Time {
	h, gone, news := d.takeNews()
	for _, what := range news {
		what()
	}
	d.failing = false
	if gone {
		return d.end()
	}
	goal := d.goal(h)
	if d.bare && d.run == nil && goal.verb == execute && d.settled == goal {
		// Somebody took the finalizer away, without which the graph would go and
		// leave its objects.
		d.restart()
		goal = d.goal(h)
	}
	if r := d.run; r != nil && (r.goal != goal || r.over) {
		r.over = true
		if r.flying > 0 {
			return time.Time{} // the answers wake
		}
		d.run = nil
	}
	if d.run == nil {
		if wake, begun := d.begin(goal, h, now); !begun {
			return wake
		}
	}
	return d.run.advance(now)
}

func (d *driver) takeNews() (head, bool, []func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	news := d.news
	d.news = nil
	if rg := d.latest; rg != nil && !d.gone {
		d.latest = nil
		if !older(rg.ResourceVersion, d.version) {
			d.graph, d.version, d.bare = rg, rg.ResourceVersion, !d.head.finalizer
		} else if d.run == nil {
			d.graph = nil // to be read
		}
	}
	return d.head, d.gone, news
}

// end waits for what is under way and forgets the graph.
func (d *driver) end() time.Time {
	if r := d.run; r != nil {
		r.over = true
		if r.flying > 0 {
			return time.Time{}
		}
		d.run = nil
	}
	d.leave()
	d.actAs("")
	d.over = true
	return time.Time{}
}

// begin starts a run if there is reason to. If not, it says when there may be.
func (d *driver) begin(g goal, h head, now time.Time) (time.Time, bool) {
	if d.settled == g && !d.woken {
		return d.idle(now), false
	}
	if !d.tried.asks(g) { // somebody wants something else, or wants it now
		d.attempts, d.retryAt = 0, time.Time{}
	}
	if now.Before(d.retryAt) {
		return d.retryAt, false
	}
	if g.verb == nothing || g.verb == halt {
		d.leave()
		d.rest, d.polled, d.early, d.woken = nil, nil, nil, false
		if g.verb == nothing {
			d.settled, d.graph = g, nil
			return time.Time{}, false
		}
	}
	if d.settled != g {
		d.rest = nil // it rests no more on what was seen
	}
	if d.rest == nil {
		d.early = nil // everything is read anew
	}
	// Whatever ends the run before it has come to its end, it is begun anew.
	d.woken, d.settled, d.tried = false, goal{}, g
	d.run = &run{d: d, goal: g, head: h, began: now, took: map[string]time.Duration{}, drifted: map[string]string{}}
	return time.Time{}, true
}

// idle is when a graph is looked at again to which nothing is to be done.
func (d *driver) idle(now time.Time) time.Time {
	if !d.again.IsZero() {
		if !now.Before(d.again) {
			d.again = time.Time{}
			d.restart()
			d.wake()
			return time.Time{}
		}
		return d.again
	}
	return d.poll(now)
}

// leave ends all subscriptions.
func (d *driver) leave() {
	d.c.share.Unsubscribe(d)
	d.awaiting = false
}

// restart has everything begun anew, from what is in the cluster.
func (d *driver) restart() {
	d.restarts++
	d.graph, d.rest = nil, nil
}

// older compares resource versions, which are numbers.
func older(a, b string) bool {
	x, errX := strconv.ParseUint(a, 10, 64)
	y, errY := strconv.ParseUint(b, 10, 64)
	return errX == nil && errY == nil && x < y
}
