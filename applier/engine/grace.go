package engine

import (
	"time"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/inventory"
)

// hasGrace reports whether objects stay for a grace period after they left the
// graph. The deletion of a whole graph is explicit and has none.
func (e *Engine) hasGrace() bool { return e.opts.Mode == ModeApply && e.opts.PruneGrace > 0 }

// graceEnd returns when the grace period of an object that left the graph ends, and
// whether it still lasts. In [ModeStatus] the end isn't known.
func (e *Engine) graceEnd(entry inventory.Entry) (end time.Time, lasts bool) {
	switch {
	case entry.LeavingSince.IsZero():
		return time.Time{}, false
	case e.opts.Mode == ModeStatus:
		return time.Time{}, true
	case !e.hasGrace():
		return time.Time{}, false
	}
	end = e.opts.Departures.end(entry, e.opts.PruneGrace, e.step.now, e.wall())
	return end, e.step.now.Before(end)
}

// hold keeps an object that left the graph, either for the rest of its grace period
// or, with behind, until the objects of an earlier level are gone. It reports whether
// the object is kept.
func (e *Engine) hold(r *removal, behind bool) bool {
	end, lasts := e.graceEnd(r.entry)
	if !lasts && !behind {
		return false
	}
	// Another graph may list the object already.
	if e.removals.claims.value == nil && e.opts.Mode != ModeStatus {
		if e.claimsLoaded(); e.removals.claims.load.failure != nil {
			load := &e.removals.claims.load
			r.fail(load, "can't check whether another graph lists it: "+load.failure.Error())
		}
		return true
	}
	r.held = true
	switch {
	case lasts && !end.IsZero():
		r.setPhase(v1alpha1.NodeWaiting, "left the graph, and is removed at "+end.Format(time.RFC3339)+" unless a graph lists it")
		if e.removals.nextPrune.IsZero() || end.Before(e.removals.nextPrune) {
			e.removals.nextPrune = end
		}
		e.wakeAt(end)
	case lasts:
		r.setPhase(v1alpha1.NodeWaiting, "left the graph at "+r.entry.LeavingSince.Format(time.RFC3339)+
			", and is removed after a grace period unless a graph lists it")
	default:
		r.setPhase(v1alpha1.NodeWaiting, "left the graph, and is removed after objects that left it later")
	}
	return true
}

// NextPrune returns when the grace period of an object ends that left the graph, or
// when such objects are to be searched again; zero for neither. A driver that stops a
// [Completed] engine has to execute the graph again at that time.
func (e *Engine) NextPrune() time.Time {
	next := e.removals.nextPrune
	if search := e.survey.search.retryAt; len(e.ledger.unsearched) > 0 && (next.IsZero() || search.Before(next)) {
		return search
	}
	return next
}

// Leaving returns the objects that left the graph and stay for a grace period.
func (e *Engine) Leaving() []inventory.Key {
	var leaving []inventory.Key
	for key, entry := range e.ledger.entries {
		if e.hasGrace() && !entry.LeavingSince.IsZero() {
			leaving = append(leaving, key)
		}
	}
	return leaving
}

// ForgetClaims makes the engine read again which objects other graphs list, because
// another graph began to list one that leaves this graph.
func (e *Engine) ForgetClaims() {
	c := &e.removals.claims
	c.value, c.outdated = nil, c.load.inFlight
	e.removals.handedOver = false
}

// wall returns the time of the wall clock, which may jump.
func (e *Engine) wall() time.Time {
	if e.opts.Wall != nil {
		return e.opts.Wall()
	}
	return e.step.now.Round(0) // drops the reading of the monotonic clock
}
