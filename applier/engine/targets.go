package engine

import (
	"iter"
	"slices"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// Awaited yields the objects whose changes the engine waits for. The driver should
// watch them. Of a write in flight, the outcome may be all that there is to wait for:
// most objects are gone when their deletion is answered.
func (e *Engine) Awaited() iter.Seq[Target] {
	return func(yield func(Target) bool) {
		for _, n := range e.nodes.all {
			if t, ok := e.awaited(n); ok && !yield(t) {
				return
			}
		}
		for _, level := range e.removals.levels {
			for _, r := range level {
				if r.status.Phase == v1alpha1.NodeDeleting && !r.write.inFlight && !yield(Target{r.entry.Key, r.entry.Version, true, true, false}) {
					return
				}
			}
		}
	}
}

// Tracked returns every object that the engine is interested in: those of its
// nodes, and those that left the graph and aren't gone. Labeled is also set for
// objects that don't exist yet, or can't be read, and will have the graph's labels.
func (e *Engine) Tracked() []Target {
	var tracked []Target
	for _, n := range e.nodes.all {
		seen := e.cache.objects[n.key]
		readOnly := n.policy.external || e.adoption.mirror && n.policy.listed
		labeled := !readOnly && (seen == nil || seen.uid == "" || e.watchedByLabels(seen))
		unreadable := seen != nil && seen.err != nil || seen == nil && e.opts.Damper.couldNotRead(n.key)
		tracked = append(tracked, Target{n.key, n.version, labeled, false, unreadable})
	}
	nodes := len(tracked)
	for key, entry := range e.ledger.entries {
		if e.nodes.byKey[key] == nil {
			seen := e.cache.objects[key]
			labeled := seen == nil || !seen.mine || e.watchedByLabels(seen)
			tracked = append(tracked, Target{key, entry.Version, labeled, true, false})
		}
	}
	// In the same order every time, so that callers recognize that nothing changed.
	slices.SortFunc(tracked[nodes:], func(a, b Target) int { return a.Key.Compare(b.Key) })
	return tracked
}

// watchedByLabels reports whether a watch of the graph's labels, and of its bucket, reports an object. A former
// graph of the same name may have had another bucket.
func (e *Engine) watchedByLabels(seen *observation) bool {
	return seen.mine && (seen.bucket == e.opts.Bucket || seen.bucket == "" || e.opts.Bucket == "")
}

// awaited returns the object of a node, and reports whether the engine waits for
// it to change.
func (e *Engine) awaited(n *node) (Target, bool) {
	switch n.status.Phase {
	case v1alpha1.NodeProgressing, v1alpha1.NodeDegraded, v1alpha1.NodeWaiting, v1alpha1.NodeFailed:
	case v1alpha1.NodeReady:
		// Values that others read from it may change while they wait for something
		// else.
		if !n.referenced {
			return Target{}, false
		}
	default:
		return Target{}, false
	}
	seen := e.cache.objects[n.key]
	if seen == nil || n.progress.write.inFlight {
		return Target{}, false
	}
	return Target{n.key, n.version, n.labeled(seen), false, false}, true
}
