package engine

import "time"

// maxAge is how long the claims of other graphs, and the absence of an object that
// left the graph, are trusted: other runs continue while this one waits.
const maxAge = 5 * time.Second

// claimsLoaded reports whether the claims of other graphs are known, and requests
// them if they aren't.
func (e *Engine) claimsLoaded() bool {
	c := &e.removals.claims
	if c.value != nil && e.step.now.Sub(c.loadedAt) < maxAge {
		return true
	}
	if !c.load.inFlight && !c.load.failedForGood() && !e.backingOff(&c.load) {
		c.load.inFlight = true
		e.request(Action{Verb: LoadClaims})
	}
	return false
}

// finishLoadClaims receives the claims of other graphs.
func (e *Engine) finishLoadClaims(o Outcome) {
	c := &e.removals.claims
	c.load.inFlight = false
	if c.outdated {
		c.outdated = false
		return // it is requested again
	}
	if o.Err != nil {
		c.load.fail(o.Err, e.step.now, e.opts.Backoff)
		return
	}
	c.load.succeed()
	c.value, c.loadedAt = &o.Claims, e.step.now
	for _, r := range e.removals.byKey {
		r.refused = nil // the graphs may have changed
	}
	if e.ledger.empty {
		for _, n := range e.nodes.all {
			n.schedule.stale = true // it may wait for the claims, see [Engine.restored]
		}
	}
}
