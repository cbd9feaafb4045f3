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

const (
	// followMinInterval is the minimum time between two observations of a graph.
	followMinInterval = 200 * time.Millisecond
	// followUnreadyInterval is the maximum time between two observations of a graph
	// that isn't ready: the causes, for example Events of Pods, aren't watched.
	followUnreadyInterval = 2 * time.Second
	// followReadyInterval is the maximum time between two observations of a ready
	// graph: its objects may be of kinds that can't be watched.
	followReadyInterval = 30 * time.Second
)

// Follow reports the state of a graph, now and whenever it may have changed, until
// ctx is done or report returns false. The state is the one of [Applier.Status]
// for rg, or of [Applier.StatusOf] if rg is nil.
//
// An error at the first observation ends Follow. Later errors are reported, and
// the observation is repeated. [ErrNoGraph] always ends Follow: the graph was
// deleted.
func (a *Applier) Follow(ctx context.Context, owner inventory.Owner, rg *v1alpha1.ResourceGraph, report func(*State, error) (more bool)) error {
	watching, stop := context.WithCancel(ctx)
	defer stop()
	events := make(chan cluster.Event, 64)
	following := *a
	following.compared = &comparisons{}
	f := &follower{
		Applier: &following, owner: owner, graph: rg, events: events, watches: newWatches(a.Client, owner, events),
	}
	for first := true; ; first = false {
		began := a.now()
		state, err := f.observe(ctx)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && (first || errors.Is(err, ErrNoGraph)):
			return err
		}
		if !report(state, err) {
			return nil
		}
		longest := followUnreadyInterval
		if state != nil && state.Ready {
			longest = followReadyInterval
		}
		if state != nil {
			f.watch(watching, state)
		}
		// A slow API server is observed less often.
		shortest := max(followMinInterval, 2*a.now().Sub(began))
		if err := f.await(ctx, longest, shortest); err != nil {
			return err
		}
	}
}

// follower follows one graph.
type follower struct {
	*Applier
	owner   inventory.Owner
	graph   *v1alpha1.ResourceGraph // nil to follow the graph by name
	events  <-chan cluster.Event
	watches *watches
}

func (f *follower) observe(ctx context.Context) (*State, error) {
	if f.graph != nil {
		return f.Status(ctx, f.graph)
	}
	return f.StatusOf(ctx, f.owner)
}

// watch starts watches of everything that can change a state: the objects, the
// graph, and its inventory. They end with ctx.
func (f *follower) watch(ctx context.Context, state *State) {
	for _, t := range state.targets {
		f.watches.start(ctx, f.watches.selection(t))
	}
	f.watches.start(ctx, cluster.Selection{
		GVK: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Namespace: f.owner.Namespace, Name: configmap.Name(f.owner),
	})
	if _, err := f.Client.Kinds().Find(ctx, resourceGraphs); err == nil {
		f.watches.start(ctx, cluster.Selection{GVK: resourceGraphs, Namespace: f.owner.Namespace, Name: f.owner.Name})
	}
}

// await waits for an event, at most for the longest time. After an event it waits
// for the rest of the shortest time, so that a burst of events causes one
// observation. It fails if ctx is done.
func (f *follower) await(ctx context.Context, longest, shortest time.Duration) error {
	select {
	case <-f.events:
	case <-time.After(longest):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	rest := time.After(shortest)
	for {
		select {
		case <-f.events:
		case <-rest:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
