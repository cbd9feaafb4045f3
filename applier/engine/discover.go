package engine

import (
	"slices"

	"github.com/pequod-io/pequod/inventory"
)

// discovered reports whether every kind of unknown scope was looked up once, and
// requests that. The Survey can then read the objects of the kinds that were found.
func (e *Engine) discovered() bool {
	all := true
	for _, k := range e.nodes.unscoped {
		if !k.answered {
			all = false
			e.discover(k)
		}
	}
	return all
}

// discover requests the scope of a kind, unless an earlier request failed and must
// not be repeated yet.
func (e *Engine) discover(k *unscopedKind) {
	if k.inFlight || e.backingOff(&k.retryState) {
		return
	}
	k.inFlight = true
	e.request(Action{Verb: Discover, Key: inventory.Key{Group: k.Group, Kind: k.Kind}, Version: k.Version})
}

// reconcileUnscoped sets the status of a node whose kind has an unknown scope, and
// requests the scope from time to time.
func (e *Engine) reconcileUnscoped(n *node, blocker *node) {
	k := n.unscoped
	if blocker != nil {
		n.block(blocker)
		return
	}
	e.discover(k)
	switch {
	case k.failure == nil: // the first request is in flight
	case n.policy.external:
		n.wait(k.failure.Error())
		e.checkTimeout(n)
	default:
		n.failBecause(&k.retryState, "")
	}
}

// finishDiscover receives the scope of a kind. If it is known now, the nodes of the
// kind get their keys, and their intents become part of the inventory.
func (e *Engine) finishDiscover(a Action, o Outcome) {
	i := slices.IndexFunc(e.nodes.unscoped, func(k *unscopedKind) bool {
		return k.Group == a.Key.Group && k.Kind == a.Key.Kind && k.Version == a.Version
	})
	if i < 0 {
		return
	}
	k := e.nodes.unscoped[i]
	k.inFlight, k.answered = false, true
	nodes := slices.DeleteFunc(slices.Clone(e.nodes.all), func(n *node) bool { return n.unscoped != k })
	for _, n := range nodes {
		n.schedule.stale = true
	}
	if o.Err != nil {
		k.fail(o.Err, e.step.now, e.opts.Backoff)
		if e.opts.Mode != ModePlan || k.failure.Reason != ReasonUnknownKind {
			return
		}
		// A plan records nothing. It shows the object with its provisional key, and the
		// prediction of the Apply fails.
		o.Namespaced = true
	}
	e.nodes.unscoped = slices.Delete(e.nodes.unscoped, i, i+1)
	if !o.Namespaced {
		e.ledger.rescope(k.GroupKind())
	}
	for _, n := range nodes {
		n.unscoped = nil
		if !o.Namespaced {
			n.key.Namespace = ""
		}
		n.status.Key = n.key
		e.nodes.byKey[n.key] = n
		if e.written(n) {
			e.ledger.desire(n.entry())
		}
	}
	e.ledger.provisional = e.nodes.provisionalKeys()
	// What left the graph is determined again: entries were kept for these nodes.
	e.removals.levels, e.removals.handedOver = nil, false
}
