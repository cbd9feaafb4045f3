package controller

import (
	"time"

	"github.com/pequod-io/pequod/applier/controller/share"
	"github.com/pequod-io/pequod/internal/resourceversion"
)

// stepResult is the result of a step of a driver.
type stepResult struct {
	wake   time.Time // when to step again if nothing happens before; zero for not at all
	failed bool      // the graph can't be executed at the moment
	ended  bool      // the graph is deleted, and no request is in flight
}

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
		if wake, left := d.leave(now, m.left); !left {
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

// preparing reports whether the prerequisites of a run are being read.
func (d *driver) preparing() bool { return d.run != nil && d.run.phase == preparing }

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
		// A user has changed the graph, or asks for a reconciliation.
		d.limits, d.awaits = nil, noAccountEvent
	}
	if wake, ok := d.retries.begin(g, now); !ok {
		return wake, false
	}
	if g.verb == verbNone || g.verb == verbSuspend {
		d.unsubscribe()
		d.watchSecret(nil)
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
	d.rights.drop(d)
	d.retries.forbidden = false
	d.run = newRun(d.services, d, &d.objects, g, requested, now)
	d.run.lackedRights = d.retries.cause == accountDeleted
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
	return earliest(d.retries.resyncAt, d.pollSecret(now))
}

// end ends the driver of a deleted graph. There is no run.
func (d *driver) end() stepResult {
	d.unsubscribe()
	d.watchSecret(nil)
	d.setAccount(share.Account{}, nil)
	return stepResult{ended: true}
}
