package share

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/applier/cluster"
)

// watcher is one watch and its subscribers. The hub's lock guards all fields
// below cancel, and cancel itself.
type watcher struct {
	hub       *hub
	selection Selection
	client    *cluster.Client

	cancel   context.CancelFunc // nil until the watcher runs
	graphs   map[Graph]bool     // the subscribers
	refused  bool               // by the API server, as far as is known
	unserved bool               // the cluster doesn't serve the kind
	// owners are the graphs that objects belonged to when they were last
	// observed: an object that changes hands is news for both graphs.
	owners map[types.UID]Graph
}

const (
	// MinPause and MaxPause are the shortest and the longest pause before a watch
	// that ended at once is opened again. Graphs that wait for an object wait for
	// that long, too, so it isn't long.
	MinPause, MaxPause = 200 * time.Millisecond, 5 * time.Second
	// maxUnserved is the longest pause before a kind that the cluster doesn't
	// serve is tried again, for up to fewUnserved such kinds.
	maxUnserved = 3 * time.Second
	fewUnserved = 20
	// steady is how long a watch has to be open to count as not having ended at once.
	steady = 30 * time.Second
)

// unservedPause returns the pause of each of several watches of kinds that the
// cluster doesn't serve. It grows with their number, because graphs may name any
// number of such kinds, and must not cost more requests for it.
func unservedPause(pause time.Duration, unserved int) time.Duration {
	return min(pause, maxUnserved) * time.Duration(1+unserved/fewUnserved)
}

// run watches until ctx is done. Every time the watch is opened it begins with
// a list, so that nothing that happens in between is missed.
func (w *watcher) run(ctx context.Context) {
	refusals := 0
	for pause := MinPause; ctx.Err() == nil; {
		began := time.Now()
		wait := pause
		var noKind *cluster.NoKindError
		request := w.selection.Request(managedSelector)
		err := w.client.ListAndWatch(ctx, request, w.observe)
		switch {
		case ctx.Err() != nil:
			return
		case apierrors.IsForbidden(err), apierrors.IsMethodNotSupported(err):
			// The role may be about to be created, for example together with the graph.
			w.setRefused()
			refusals++
			wait = min(w.hub.retryRefused, time.Second<<min(refusals, 10))
		case err == nil:
			refusals = 0
		case errors.As(err, &noKind):
			// The objects were deleted together with their kind.
			wait = unservedPause(pause, w.setUnserved())
			w.observeList(&cluster.Listing{Selection: request})
		}
		if time.Since(began) > steady {
			pause = MinPause
		}
		pause = min(2*pause, MaxPause)
		select {
		case <-ctx.Done():
		case <-time.After(wait/2 + rand.N(wait)):
		}
	}
}

// setRefused records that the API server refuses the watch. Subscribers look for
// another way.
func (w *watcher) setRefused() {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	if !w.refused {
		w.refused = true
		w.notifyAll(AccessChanged)
	}
}

// setUnserved records that the cluster doesn't serve the kind. It returns the
// number of such watches.
func (w *watcher) setUnserved() int {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	// A watcher that was removed meanwhile doesn't count.
	if !w.unserved && w.hub.watchers[w.selection] == w {
		w.unserved = true
		w.hub.unserved++
	}
	return w.hub.unserved
}

// setOpen records that the watch is open.
func (w *watcher) setOpen() {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	if w.unserved {
		w.unserved = false
		w.hub.unserved--
		w.notifyAll(KindServed)
	}
	if w.refused {
		w.refused = false
		w.notifyAll(AccessChanged)
	}
}

// notifyAll notifies all subscribers. The caller holds the hub's lock.
func (w *watcher) notifyAll(t ObservationType) {
	for g := range w.graphs {
		g.Notify(Observation{Type: t})
	}
}

// observe hands an event of the watch over to the subscribers. It returns true
// to go on watching.
func (w *watcher) observe(ev cluster.Event) bool {
	if ev.Listing != nil {
		w.setOpen()
		w.observeList(ev.Listing)
		return true
	}
	o := Observation{Type: ObjectChanged, Object: ev.Object}
	if ev.Deleted {
		o.Type = ObjectDeleted
	}
	for _, g := range w.receivers(ev.Object, ev.Deleted) {
		g.Notify(o)
	}
	return true
}

// observeList hands each subscriber its part of a list. A subscriber without
// objects gets an empty list: that is how it learns that they were deleted.
func (w *watcher) observeList(all *cluster.Listing) {
	parts := map[Graph][]unstructured.Unstructured{}
	w.hub.mu.Lock()
	clear(w.owners)
	for g := range w.graphs {
		parts[g] = nil
		if w.selection.Name != "" {
			parts[g] = all.Objects
		}
	}
	if w.selection.Name == "" {
		for _, obj := range all.Objects {
			if g := w.ownerOf(&obj); g != nil {
				w.owners[obj.GetUID()] = g
				parts[g] = append(parts[g], obj)
			}
		}
	}
	w.hub.mu.Unlock()
	for g, part := range parts {
		g.Notify(Observation{Type: Listed, Selection: w.selection, Version: all.ResourceVersion, Objects: part})
	}
}
