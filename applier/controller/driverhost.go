package controller

import (
	"time"
	"unique"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/controller/share"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/internal/resourceversion"
	"github.com/pequod-io/pequod/inventory"
)

// The methods here implement the interface host, for the run, or serve those that do.
// They are called by the worker, in a step.

// post implements host. It may be called from any goroutine.
func (d *driver) post(f func()) { d.inbox.post(f) }

// serviceAccount implements host.
func (d *driver) serviceAccount() share.Account {
	if d.account == (unique.Handle[share.Account]{}) {
		return share.Account{}
	}
	return d.account.Value()
}

// setAccount implements host. The client of an account is kept as long as a
// driver uses it.
func (d *driver) setAccount(a share.Account, to *destination) {
	old, from := d.serviceAccount(), d.destination
	if a == old && to == from {
		return
	}
	if old != (share.Account{}) {
		d.clusterShare().Drop(old)
		if from != nil {
			d.share.Drop(old)
		}
	}
	if to != from && from != nil {
		d.unsubscribe()
		d.destinations.drop(from, d)
	}
	if to != from && to != nil {
		d.destinations.retain(to)
	}
	d.account, d.destination = unique.Handle[share.Account]{}, to
	if a != (share.Account{}) {
		d.account = unique.Make(a)
		d.clusterShare().Retain(a)
		if to != nil {
			d.share.Retain(a)
		}
	}
}

// subscribe implements host. It replaces all earlier subscriptions.
func (d *driver) subscribe(client *cluster.Client, targets []engine.Target) bool {
	polled, missed := d.clusterShare().Subscribe(d, d.serviceAccount(), client, targets)
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

// resuming implements host.
func (d *driver) resuming() bool { return d.starting }

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

// dropRun drops the run. No request of it may be in flight, unless its phase is
// ending.
func (d *driver) dropRun() {
	if e := d.run.engine; e != nil && d.unrecorded.uid != "" {
		d.unrecorded.owned = e.Inventory().Entries
	}
	d.run = nil
	d.objects.detach()
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

// stalled implements host. A graph that awaits an event of its account is tried again then,
// and from time to time in case that the event is missed, or the watch is refused.
func (d *driver) stalled(awaits accountEvent) {
	d.settle()
	d.stalls = true
	d.objects.forget()
	d.retries.resyncAt = time.Time{}
	if awaits != noAccountEvent {
		d.retries.scheduleResync(d.now(), d.Resync, awaits)
	}
	if awaits == accountCreated {
		d.await(awaits)
	} else {
		d.unsubscribe() // observations wouldn't change anything
		d.awaits = awaits
	}
	if awaits == clusterKnown {
		d.destination.whenKnown(d, d.clusterKnown)
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

// unsubscribe ends all subscriptions.
func (d *driver) unsubscribe() {
	d.share.Unsubscribe(d)
	if d.destination != nil {
		d.clusterShare().Unsubscribe(d)
	}
	d.clusterShare().SetLeaving(d, nil)
	d.awaits, d.pruneAt = noAccountEvent, time.Time{}
}

// waitForResync implements host.
func (d *driver) waitForResync(now time.Time, awaits accountEvent) (time.Time, bool) {
	if d.retries.resyncAt.IsZero() {
		d.retries.scheduleResync(now, d.Resync, awaits)
		if awaits == accountDeleted {
			d.await(awaits)
		}
		if awaits.isRights() {
			d.rights.await(d, d.run.began)
		}
	} else if d.retries.resyncDue(now) {
		d.restart()
		d.wake()
		return time.Time{}, true
	}
	return d.retries.resyncAt, false
}

// nextTry implements host.
func (d *driver) nextTry(awaits accountEvent) time.Duration {
	return d.retries.within(d.Resync, awaits)
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

// forbidden implements host.
func (d *driver) forbidden(err error) {
	switch before := d.retries.forbidden; {
	case apierrors.IsForbidden(err):
		began := d.now()
		if d.run != nil {
			began = d.run.began
		}
		d.retries.forbidden = true
		d.rights.await(d, began)
	case before:
		d.retries.forbidden = false
		d.rights.drop(d)
	}
}

// retryDelay implements host. It logs and counts the error.
func (d *driver) retryDelay(err error) time.Duration {
	d.forbidden(err)
	f := cluster.Classify(err)
	d.Metrics.ReconcileFailed(d.key.Namespace, d.key.Name, f.Reason)
	d.log.Info("retrying a graph", "namespace", d.key.Namespace, "name", d.key.Name, "reason", f.Error())
	return d.retries.failed(f.RetryAfter)
}
