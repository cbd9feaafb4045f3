package engine

import (
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/inventory"
)

// Awaited are the objects that the engine waits for to change: these are to be
// watched. Ours says that the object carries the graph's labels.
func (e *Engine) Awaited() []Target {
	var awaited []Target
	for _, n := range e.nodes {
		seen := e.world[n.key]
		if seen == nil || n.state.flying {
			continue
		}
		switch n.status.Phase {
		case v1alpha1.NodeProgressing, v1alpha1.NodeWaiting, v1alpha1.NodeFailed:
			awaited = append(awaited, Target{n.key, n.version, !n.external && (seen.absent || seen.mine)})
		}
	}
	for _, level := range e.leaving {
		for _, l := range level {
			if l.status.Phase == v1alpha1.NodeDeleting {
				awaited = append(awaited, Target{l.entry.Key, l.entry.Version, true})
			}
		}
	}
	return awaited
}

// Unsaved is the inventory, and whether it differs from what was recorded: what
// a run that is stopped has to write down.
func (e *Engine) Unsaved() (*inventory.Inventory, bool) {
	inv := e.Inventory()
	return inv, e.intent && !inventory.Equal(inv, e.saved)
}
