package applier

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
)

// watches are the watches of one run. A watch starts when the run first waits for
// one of its objects, so that objects that are ready at once cost no request.
type watches struct {
	client   *cluster.Client
	selector string // of the graph's objects
	events   chan<- cluster.Event
	open     map[cluster.Selection]bool
}

// newWatches returns an empty set of watches that send to events.
func newWatches(client *cluster.Client, owner inventory.Owner, events chan<- cluster.Event) *watches {
	return &watches{client: client, selector: owner.Selector(), events: events, open: map[cluster.Selection]bool{}}
}

// startAwaited starts the watches of the objects that an engine waits for. They end
// with ctx.
func (w *watches) startAwaited(ctx context.Context, e *engine.Engine) {
	var last cluster.Selection
	for t := range e.Awaited() {
		// This runs in each step, and neighbors mostly share a watch.
		if s := w.selection(t); s != last {
			w.start(ctx, s)
			last = s
		}
	}
}

// selection returns the watch that sees an object: of all objects of its kind and
// namespace with the graph's labels, or only of the object by its name.
func (w *watches) selection(t engine.Target) cluster.Selection {
	s := cluster.Selection{
		GVK:       schema.GroupVersionKind{Group: t.Key.Group, Version: t.Version, Kind: t.Key.Kind},
		Namespace: t.Key.Namespace,
	}
	if t.Labeled {
		s.Labels = w.selector
	} else {
		s.Name = t.Key.Name
	}
	return s
}

// start starts a watch unless it was started before.
func (w *watches) start(ctx context.Context, s cluster.Selection) {
	if w.open[s] {
		return
	}
	w.open[s] = true
	go w.client.Watch(ctx, s, w.events)
}
