package engine

import (
	"iter"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/inventory"
)

// Awaited are the objects that the engine waits for to change: these are to be
// watched. Ours says that the object carries the graph's labels.
func (e *Engine) Awaited() iter.Seq[Target] {
	return func(yield func(Target) bool) {
		for _, n := range e.nodes {
			if t, ok := e.awaited(n); ok && !yield(t) {
				return
			}
		}
		for _, level := range e.leaving {
			for _, l := range level {
				if l.status.Phase == v1alpha1.NodeDeleting && !yield(Target{l.entry.Key, l.entry.Version, true}) {
					return
				}
			}
		}
	}
}

// Tracked are all objects that the engine looks after: those of its nodes, and
// those that left the graph and aren't gone. Ours says that the object carries
// the graph's labels, or will.
func (e *Engine) Tracked() []Target {
	var held []Target
	for _, n := range e.nodes {
		seen := e.world[n.key]
		ours := !n.external && !(e.mirror && n.listed) && (seen == nil || seen.absent || seen.mine)
		held = append(held, Target{n.key, n.version, ours})
	}
	for key, entry := range e.entries {
		if e.byKey[key] == nil {
			held = append(held, Target{key, entry.Version, true})
		}
	}
	return held
}

func (e *Engine) awaited(n *node) (Target, bool) {
	switch n.status.Phase {
	case v1alpha1.NodeProgressing, v1alpha1.NodeWaiting, v1alpha1.NodeFailed:
	case v1alpha1.NodeReady:
		// What others read of it may change while something else is waited for.
		if !n.read {
			return Target{}, false
		}
	default:
		return Target{}, false
	}
	seen := e.world[n.key]
	if seen == nil || n.state.flying {
		return Target{}, false
	}
	return Target{n.key, n.version, !n.external && (seen.absent || seen.mine)}, true
}

// UnsavedInventory is the inventory, and whether it differs from what was recorded: what
// a run that is stopped has to write down.
func (e *Engine) UnsavedInventory() (*inventory.Inventory, bool) {
	inv := e.Inventory()
	return inv, e.intent && !inventory.Equal(inv, e.saved)
}
