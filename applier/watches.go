package applier

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
)

// watches are those that a run has opened: each when the first object of its
// kind is waited for, so that kinds that are ready at once cost no request.
type watches struct {
	ctx    context.Context
	client *cluster.Client
	labels string // of the graph's objects
	seen   chan<- cluster.Event
	open   map[cluster.Selection]bool
}

func newWatches(ctx context.Context, client *cluster.Client, owner inventory.Owner, seen chan<- cluster.Event) *watches {
	return &watches{ctx: ctx, client: client, labels: owner.Selector(), seen: seen, open: map[cluster.Selection]bool{}}
}

// follow opens the watches that the engine's state asks for.
func (w *watches) follow(e *engine.Engine) {
	var last cluster.Selection
	for a := range e.Awaited() {
		// Mostly many of one kind follow each other, at each step.
		if scope := w.scope(a); scope != last {
			w.add(scope)
			last = scope
		}
	}
}

// scope is where an object is seen: with others of the graph, or by its name.
func (w *watches) scope(a engine.Target) cluster.Selection {
	scope := cluster.Selection{
		GVK:       schema.GroupVersionKind{Group: a.Key.Group, Version: a.Version, Kind: a.Key.Kind},
		Namespace: a.Key.Namespace,
	}
	if a.Labeled {
		scope.Labels = w.labels
	} else {
		scope.Name = a.Key.Name
	}
	return scope
}

// add opens a watch, once.
func (w *watches) add(scope cluster.Selection) {
	if w.open[scope] {
		return
	}
	w.open[scope] = true
	go w.client.Watch(w.ctx, scope, w.seen)
}
