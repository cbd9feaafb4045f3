package engine

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/inventory"
)

// unscopedKind is a kind that the cluster didn't serve, or that wasn't looked up
// yet. An object of such a kind has no key: it is unknown whether the object has a
// namespace. Its node waits, and nothing is recorded for it.
type unscopedKind struct {
	retryState
	schema.GroupVersionKind
	// answered is set when the first Discover was answered, successfully or not.
	answered bool
	nodes    []*node
}

// addUnscoped adds a node whose kind has an unknown scope.
func (x *nodeIndex) addUnscoped(n *node) {
	gvk := schema.GroupVersionKind{Group: n.key.Group, Version: n.version, Kind: n.key.Kind}
	i := slices.IndexFunc(x.unscoped, func(k *unscopedKind) bool { return k.GroupVersionKind == gvk })
	if i < 0 {
		i = len(x.unscoped)
		x.unscoped = append(x.unscoped, &unscopedKind{GroupVersionKind: gvk})
	}
	n.unscoped = x.unscoped[i]
	n.unscoped.nodes = append(n.unscoped.nodes, n)
}

// provisionalKeys returns the keys of the nodes of unknown scope.
func (e *Engine) provisionalKeys() []inventory.Key {
	var keys []inventory.Key
	for _, k := range e.nodes.unscoped {
		for _, n := range k.nodes {
			keys = append(keys, n.key)
		}
	}
	return keys
}

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
		n.wait(k.failure.Message)
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
	for _, n := range k.nodes {
		n.schedule.stale = true
	}
	if o.Err != nil {
		k.fail(o.Err, e.step.now, e.opts.Backoff)
		return
	}
	e.nodes.unscoped = slices.Delete(e.nodes.unscoped, i, i+1)
	if !o.Namespaced {
		e.ledger.rescope(k.GroupKind())
	}
	for _, n := range k.nodes {
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
	e.ledger.provisional = e.provisionalKeys()
	// What left the graph is determined again: entries were kept for these nodes.
	e.removals.levels, e.removals.handedOver = nil, false
}
