package applier

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/inventory"
	"github.com/pequod-io/pequod/inventory/configmap"
)

// How often a graph is looked at that is followed.
const (
	// followGap is the time between two looks, however much happens.
	followGap = 200 * time.Millisecond
	// What isn't ready is looked at for the causes, which nobody watches; what
	// is, should it be of a kind that may not be watched.
	followWaiting, followReady = 2 * time.Second, 30 * time.Second
)

// Follow tells how a graph is, now and whenever something happens to it, until
// ctx ends or nobody wants to be told more. It is Status of rg, or where that is
// nil StatusOf. That a cluster can't be asked is an error at first; later it is
// told, and tried again. A graph that goes ends it with [ErrNoGraph].
func (a *Applier) Follow(ctx context.Context, owner inventory.Owner, rg *v1alpha1.ResourceGraph, tell func(*State, error) (more bool)) error {
	watching, stop := context.WithCancel(ctx)
	defer stop()
	f := &follower{
		Applier: a, owner: owner, graph: rg, seen: make(chan cluster.Event, 64),
	}
	f.scopes = newWatches(watching, a.Client, owner, f.seen)
	for first := true; ; first = false {
		began := a.now()
		state, err := f.look(ctx)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && (first || errors.Is(err, ErrNoGraph)):
			return err
		}
		if !tell(state, err) {
			return nil
		}
		pause := followWaiting
		if state != nil && state.Ready {
			pause = followReady
		}
		if state != nil {
			f.watch(ctx, state)
		}
		if err := f.await(ctx, pause, max(followGap, 2*a.now().Sub(began))); err != nil {
			return err
		}
	}
}

// follower follows one graph.
type follower struct {
	*Applier
	owner  inventory.Owner
	graph  *v1alpha1.ResourceGraph
	seen   chan cluster.Event
	scopes *watches
}

func (f *follower) look(ctx context.Context) (*State, error) {
	if f.graph != nil {
		return f.Status(ctx, f.graph)
	}
	return f.StatusOf(ctx, f.owner)
}

// watch opens the watches that a state asks for: of the objects, of the graph
// and of the record of what was applied.
func (f *follower) watch(ctx context.Context, state *State) {
	for _, t := range state.held {
		f.scopes.add(f.scopes.scope(t))
	}
	f.scopes.add(cluster.Selection{
		GVK: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Namespace: f.owner.Namespace, Name: configmap.Name(f.owner),
	})
	gvk := v1alpha1.GroupVersion.WithKind("ResourceGraph")
	if _, err := f.Client.Kinds().Find(ctx, gvk); err == nil {
		f.scopes.add(cluster.Selection{GVK: gvk, Namespace: f.owner.Namespace, Name: f.owner.Name})
	}
}

// await waits until something is seen, but at least for the shortest time, which
// has what happens at once be looked at once, and at most for the longest.
func (f *follower) await(ctx context.Context, longest, shortest time.Duration) error {
	select {
	case <-f.seen:
	case <-time.After(longest):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	rest := time.After(shortest)
	for {
		select {
		case <-f.seen:
		case <-rest:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
