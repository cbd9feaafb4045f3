package controller

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/controller/share"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/internal/resourceversion"
	"github.com/pequod-io/pequod/inventory"
)

// driver executes one graph, in runs. It outlives its runs, and remembers
// between them as little as possible.
//
// Other goroutines use only the inbox and the turn. All other fields belong to the
// worker that steps the driver; the turn makes sure that there is only one at a
// time.
type driver struct {
	*services
	key   types.NamespacedName
	inbox inbox
	turn  turn
	epoch int64 // the part of the cluster's history that the driver knows

	run      *run // nil if nothing has to be done
	graph    knownGraph
	account  string // name of the service account, empty if it isn't known
	restarts int    // part of the current goal
	retries  retries
	// limits are those of writes for the last request of a user; nil until they are needed.
	limits     *engine.Damper
	leaving    *engine.Departures
	objects    objects
	unrecorded unrecorded
	// awaits isn't noAccountEvent while the driver is subscribed to its account only.
	awaits  accountEvent
	settled bool // the last run came to its end, and retries has its goal
	stalls  bool // the graph stalled in this step
	// pruneAt is when a completed graph is executed again to prune an object whose
	// grace period ends then, zero for never.
	pruneAt time.Time
}

// accountEvent is a change of the account of a graph that calls for another run.
type accountEvent int8

const (
	noAccountEvent accountEvent = iota
	accountCreated              // the graph can't be executed before
	accountDeleted              // the account may not delete the graph's objects
)

// happenedIn reports whether an observation of the account shows that it happened.
func (e accountEvent) happenedIn(o share.Observation) bool {
	switch e {
	case accountCreated:
		return o.Type == share.ObjectChanged || len(o.Objects) > 0
	case accountDeleted:
		return o.Type == share.ObjectDeleted || o.Type == share.Listed && len(o.Objects) == 0
	}
	return false
}

// unrecorded is the graph that this process began to execute first, until its
// inventory is recorded. A graph without one has lost it otherwise.
type unrecorded struct {
	uid   types.UID         // empty if the inventory is recorded
	owned []inventory.Entry // objects that a run may have created
}

// knownGraph is the state of a graph as its driver knows it.
type knownGraph struct {
	graph       *v1alpha1.ResourceGraph // nil if it has to be read
	version     string                  // the newest resource version that is known to exist
	noFinalizer bool                    // it was last seen without the finalizer
}

// stepResult is the result of a step of a driver.
type stepResult struct {
	wake   time.Time // when to step again if nothing happens before; zero for not at all
	failed bool      // the graph can't be executed at the moment
	ended  bool      // the graph is deleted, and no request is in flight
}

// newDriver returns the driver of a graph. Wake makes the controller step it.
func newDriver(s *services, key types.NamespacedName, wake func()) *driver {
	return &driver{services: s, key: key, inbox: inbox{wake: wake}, epoch: s.share.Epoch(), leaving: engine.NewDepartures(s.graceRest())}
}

// wake makes the controller step the driver.
func (d *driver) wake() { d.inbox.wake() }

// Owner implements [share.Graph].
func (d *driver) Owner() inventory.Owner {
	return inventory.Owner{Namespace: d.key.Namespace, Name: d.key.Name}
}

// Notify implements [share.Graph].
func (d *driver) Notify(o share.Observation) { d.inbox.post(func() { d.observe(o) }) }

// step takes what is in the inbox, and then does what can be done now.
func (d *driver) step(now time.Time) stepResult {
	if epoch := d.share.Epoch(); d.epoch != epoch {
		d.epoch = epoch
		d.forgetHistory()
	}
	result := d.advance(now)
	result.failed = result.failed || d.stalls
	d.stalls = false
	return result
}

// advance is step without the result of a graph that stalls as a whole, for which it
// sets d.stalls.
func (d *driver) advance(now time.Time) stepResult {
	m := d.inbox.take()
	d.takeGraph(m)
	if d.objects.engine != nil {
		d.objects.engine.At(now)
	}
	for _, post := range m.posts {
		post()
	}
	if d.run != nil && (m.deleted || m.seen.uid != d.run.goal.uid) {
		if wake, left := d.leave(now); !left {
			return stepResult{wake: wake}
		}
	}
	if m.deleted {
		return d.end()
	}
	g := d.goal(m.seen)
	if d.graph.noFinalizer && d.run == nil && g.verb == verbExecute && d.settledAt(g) {
		// The finalizer was removed by others. Without it, the graph could be deleted
		// without its objects: a run adds it again.
		d.restart()
		g = d.goal(m.seen)
	}
	if r := d.run; r != nil && (r.goal != g || r.ended()) {
		r.end()
		if r.busy() {
			return stepResult{} // the answers wake the driver
		}
		d.dropRun()
	}
	if d.run == nil {
		if !d.pruneAt.IsZero() && !now.Before(d.pruneAt) {
			d.objects.changed = true
		}
		if wake, begun := d.begin(g, m.seen.requested, now); !begun {
			return stepResult{wake: wake}
		}
	}
	wake, failed := d.run.advance(now)
	switch {
	case d.run == nil: // it has just come to its end
		wake = d.idle(now)
	case d.objects.engine != nil:
		wake = earliest(wake, d.poll(now))
	}
	return stepResult{wake: wake, failed: failed}
}

// goal returns the goal for a state of the graph.
func (d *driver) goal(seen seenGraph) goal {
	g := goalOf(seen, d.restarts)
	g.epoch = d.epoch
	return g
}

// takeGraph takes the newest state of the graph, unless the driver knows by its
// own writes that there is a newer one.
func (d *driver) takeGraph(m mail) {
	rg := m.latest
	if rg == nil || m.deleted {
		return
	}
	if !resourceversion.Older(rg.ResourceVersion, d.graph.version) {
		d.graph = knownGraph{rg, rg.ResourceVersion, !m.seen.finalizer}
	} else if d.run == nil {
		d.graph.graph = nil // the next run reads it
	}
}

// begin begins a run if there is reason to. If not, it returns when there may be.
func (d *driver) begin(g goal, requested string, now time.Time) (time.Time, bool) {
	settled := d.settledAt(g)
	if settled && !d.objects.changed {
		return d.idle(now), false
	}
	if !d.retries.goal.sameRequest(g) {
		d.limits = nil // a user has changed the graph, or asks for a reconciliation
	}
	if wake, ok := d.retries.begin(g, now); !ok {
		return wake, false
	}
	if g.verb == verbNone || g.verb == verbSuspend {
		d.unsubscribe()
		d.objects.forget()
		if g.verb == verbNone {
			d.settled, d.graph.graph = true, nil
			return time.Time{}, false
		}
	}
	d.pruneAt = time.Time{}
	d.objects.beginRun(settled)
	// If the run is ended before it comes to its end, another one has to begin.
	d.settled = false
	d.run = newRun(d.services, d, &d.objects, g, requested, now)
	d.run.prepare(d.graph.graph)
	return time.Time{}, true
}

// settledAt reports whether the last run came to its end and had a goal.
func (d *driver) settledAt(g goal) bool { return d.settled && d.retries.goal == g }

// idle returns when to step a graph for which nothing has to be done.
func (d *driver) idle(now time.Time) time.Time {
	switch {
	case d.retries.resyncAt.IsZero():
		return earliest(d.poll(now), d.pruneAt)
	case d.retries.resyncDue(now):
		d.restart()
		d.wake()
		return time.Time{}
	}
	return d.retries.resyncAt
}

// end ends the driver of a deleted graph. There is no run.
func (d *driver) end() stepResult {
	d.unsubscribe()
	d.setAccount("")
	return stepResult{ended: true}
}

// dropRun drops the run. No request of it may be in flight, unless its phase is
// ending.
func (d *driver) dropRun() {
	if e := d.run.engine; e != nil && d.unrecorded.uid != "" {
		d.unrecorded.owned = e.Inventory().Entries
	}
	d.run = nil
	d.objects.detach()
}

// unsubscribe ends all subscriptions.
func (d *driver) unsubscribe() {
	d.share.Unsubscribe(d)
	d.share.SetLeaving(d, nil)
	d.awaits, d.pruneAt = noAccountEvent, time.Time{}
}

// observe handles an observation of the graph's objects, or of its account.
func (d *driver) observe(o share.Observation) {
	switch {
	case o.Type == share.AccessChanged:
		// Subscribing again may find another way to see the objects.
		if d.objects.engine != nil {
			d.run.subscribe()
		} else if d.objects.snapshot != nil {
			d.objects.changed = true
		}
	case o.Type == share.KindServed:
		// What failed for lack of the kind may work now.
		if d.objects.engine != nil {
			d.restart()
		}
	case o.Type == share.HistoryRewritten, d.objects.contradicts(o):
		d.forgetHistory()
	case o.Type == share.KindBroken:
		// A new run reads the objects, or says why it can't.
		if d.objects.judged() {
			d.restart()
		}
	case o.Type == share.Claimed:
		if d.objects.engine != nil {
			d.objects.engine.ForgetClaims()
		} else if d.objects.snapshot != nil {
			d.objects.changed = true
		}
	case d.awaits.happenedIn(o):
		d.awaits = noAccountEvent
		d.retries.resyncAt = time.Time{}
		d.restart()
	default:
		d.objects.observe(o, d.run != nil)
	}
}

// pollInterval is how often objects that can't be watched are read at the begin of a
// run. It grows to Options.Resync if the graph doesn't become ready.
// Without a run, Options.Resync applies.
const pollInterval = 5 * time.Second

// poll reads objects that can't be watched when their time has come. It returns
// when to call it again, zero for not at all.
func (d *driver) poll(now time.Time) time.Time {
	due, next := d.objects.due(now, d.pollEvery(now))
	account := d.serviceAccount()
	for _, s := range due {
		d.share.Continue(d, func(ctx context.Context) { d.list(ctx, account, s) })
	}
	return next
}

// pollEvery returns the time between two polls. The longer a run lasts, the less
// likely is a change, and a thousand broken graphs must not load the API server for
// ever.
func (d *driver) pollEvery(now time.Time) time.Duration {
	if d.run == nil {
		return d.Resync
	}
	return max(pollInterval, min(now.Sub(d.run.began)/4, d.Resync))
}

// list lists the objects of a selection as the graph's account. Errors are
// dropped: the next poll tries again.
func (d *driver) list(ctx context.Context, a share.Account, s share.Selection) {
	client, err := d.share.Client(ctx, a, false)
	if err != nil || client == nil {
		return
	}
	if all, err := client.List(ctx, s.Request(d.Owner().Selector())); err == nil {
		d.Notify(share.Observation{Type: share.Listed, Selection: s, Version: all.ResourceVersion, Objects: all.Objects})
	}
}

// The methods below implement the interface host, for the run. They are called
// by the worker, in a step.

// post implements host. It may be called from any goroutine.
func (d *driver) post(f func()) { d.inbox.post(f) }

// serviceAccount implements host.
func (d *driver) serviceAccount() share.Account {
	return share.Account{Namespace: d.key.Namespace, Name: d.account}
}

// setAccount implements host. The client of an account is kept as long as a
// driver uses it.
func (d *driver) setAccount(name string) {
	if name == d.account {
		return
	}
	if d.account != "" {
		d.share.Drop(d.serviceAccount())
	}
	if d.account = name; name != "" {
		d.share.Retain(d.serviceAccount())
	}
}

// subscribe implements host. It replaces all earlier subscriptions.
func (d *driver) subscribe(client *cluster.Client, targets []engine.Target) bool {
	polled, missed := d.share.Subscribe(d, d.serviceAccount(), client, targets)
	d.objects.track(targets, polled)
	d.awaits = noAccountEvent
	return d.objects.reread(missed)
}

// version implements host.
func (d *driver) version() string { return d.graph.version }

// graphRead implements host. The run keeps the graph, so the driver drops its own.
func (d *driver) graphRead(version string) { d.graph = knownGraph{version: version} }

// graphWritten implements host. The watch may have reported a newer version already.
func (d *driver) graphWritten(version string) {
	d.retries.progressed()
	if resourceversion.Older(d.graph.version, version) {
		d.graph.version = version
	}
}

// damper implements host.
func (d *driver) damper() *engine.Damper {
	if d.limits == nil {
		d.limits = engine.NewDamper()
	}
	return d.limits
}

// departures implements host.
func (d *driver) departures() *engine.Departures { return d.leaving }

// timedOut implements host.
func (d *driver) timedOut() { d.retries.timedOut(d.now()) }

// hurried implements host.
func (d *driver) hurried() bool { return d.now().Before(d.retries.hurriedUntil) }

// setUnrecorded implements host.
func (d *driver) setUnrecorded(uid types.UID) {
	if uid != d.unrecorded.uid {
		d.unrecorded = unrecorded{uid: uid}
	}
}

// unrecordedGraph implements host.
func (d *driver) unrecordedGraph(uid types.UID) ([]inventory.Entry, bool) {
	return d.unrecorded.owned, d.unrecorded.uid == uid
}

// progressed implements host.
func (d *driver) progressed() { d.retries.progressed() }

// restart implements host. A new number of restarts makes another goal, which ends
// the current run.
func (d *driver) restart() {
	d.restarts++
	d.graph.graph, d.objects.snapshot = nil, nil
}

// forgetHistory makes another run begin that reads everything again: the history of
// the cluster was rewritten.
func (d *driver) forgetHistory() {
	if d.run != nil {
		d.run.end() // what it still gets to know doesn't count
	}
	d.restart()
	d.graph, d.unrecorded, d.leaving = knownGraph{}, unrecorded{}, engine.NewDepartures(d.PruneGrace)
}

// settle drops the run: its goal is reached, as far as it can be.
func (d *driver) settle() {
	d.settled, d.graph.graph = true, nil
	d.dropRun()
}

// completed implements host.
func (d *driver) completed(s *engine.Snapshot, nextPrune time.Time) {
	d.settle()
	if d.limits.Unused() {
		d.limits = nil
	}
	d.objects.settle(s)
	d.pruneAt = nextPrune
	d.retries.succeeded()
}

// suspended implements host.
func (d *driver) suspended() { d.settle() }

// stalled implements host. A graph whose account is missing is tried again when the
// account is created, and from time to time in case that the watch is refused.
func (d *driver) stalled(accountMissing bool) {
	d.settle()
	d.stalls = true
	d.objects.forget()
	d.retries.resyncAt = time.Time{}
	if accountMissing {
		d.retries.scheduleResync(d.now(), d.Resync, true)
		d.await(accountCreated)
	} else {
		d.unsubscribe() // observations wouldn't change anything
	}
	d.wake()
}

// finalized implements host. The watch is about to report that the graph is deleted.
func (d *driver) finalized() { d.settled = true }

// await subscribes the driver to its account, and to nothing else.
func (d *driver) await(e accountEvent) {
	d.share.SubscribeToAccount(d, d.serviceAccount())
	d.awaits = e
}

// waitForResync implements host.
func (d *driver) waitForResync(now time.Time, deleting, forbidden bool) (time.Time, bool) {
	if d.retries.resyncAt.IsZero() {
		d.retries.scheduleResync(now, d.Resync, deleting)
		if deleting && forbidden {
			d.await(accountDeleted)
		}
	} else if d.retries.resyncDue(now) {
		d.restart()
		d.wake()
		return time.Time{}, true
	}
	return d.retries.resyncAt, false
}

// failed implements host.
func (d *driver) failed(g goal, err error) {
	now := d.now()
	if apierrors.IsNotFound(err) {
		// The graph was deleted, which the watch is about to report.
		d.retries.notBefore, d.retries.goal = now.Add(time.Second), g
	} else {
		d.retries.notBefore = now.Add(d.retryDelay(err))
	}
	d.restart()
	d.wake()
}

// retryDelay implements host. It logs and counts the error.
func (d *driver) retryDelay(err error) time.Duration {
	f := cluster.Classify(err)
	d.Metrics.ReconcileFailed(d.key.Namespace, d.key.Name, f.Reason)
	d.log.Info("retrying a graph", "namespace", d.key.Namespace, "name", d.key.Name, "reason", f.Message)
	return d.retries.failed(f.RetryAfter)
}
