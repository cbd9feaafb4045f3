package controller

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

// watcher is one watch with those who are told what it sees. What isn't of the
// watch alone is guarded by the hub.
type watcher struct {
	hub    *hub
	scope  scope
	client *cluster.Client
	cancel context.CancelFunc

	drivers map[*driver]bool
	refused bool // by the API server
	missing bool // the cluster doesn't serve the kind
	// owners are whose objects were when they were seen last: one that changes
	// hands is news for both.
	owners map[types.UID]*driver
}

// The pause before a watch that ended at once is opened again, and the longest
// one for a kind that the cluster doesn't serve, as long as those are few. Who
// waits for what is watched waits for that long, too: so it isn't long.
const (
	minPause, maxPause = 200 * time.Millisecond, 5 * time.Second
	maxMissing         = 3 * time.Second
	fewMissing         = 20
	// A watch that was open for so long didn't end at once.
	steady = 30 * time.Second
)

// missingPause is the pause of each of several watches of kinds that aren't
// there: graphs may name any number of them, and are to cost no more for it.
func missingPause(pause time.Duration, missing int) time.Duration {
	return min(pause, maxMissing) * time.Duration(1+missing/fewMissing)
}

// run watches until nobody needs it any more. Whenever a watch is opened again
// it begins with a listing: what happened in between isn't missed.
func (w *watcher) run(ctx context.Context) {
	refusals := 0
	for pause := minPause; ctx.Err() == nil; {
		began := time.Now()
		wait := pause
		var noKind *cluster.NoKindError
		err := w.client.ListAndWatch(ctx, w.scope.seen(), w.see)
		switch {
		case ctx.Err() != nil:
			return
		case apierrors.IsForbidden(err), apierrors.IsMethodNotSupported(err):
			// A role may be on its way, such as one that was applied with the graph.
			w.refuse()
			refusals++
			wait = min(w.hub.retry, time.Second<<min(refusals, 10))
		case err == nil:
			refusals = 0
		case errors.As(err, &noKind):
			// Its objects went with it.
			wait = missingPause(pause, w.miss())
			w.list(&cluster.Listing{Selection: w.scope.seen()})
		}
		if time.Since(began) > steady {
			pause = minPause
		}
		pause = min(2*pause, maxPause)
		select {
		case <-ctx.Done():
		case <-time.After(wait/2 + rand.N(wait)):
		}
	}
}

func (s scope) seen() cluster.Selection {
	seen := cluster.Selection{GVK: s.gvk, Namespace: s.namespace, Name: s.name}
	if s.name == "" {
		seen.Labels = managed
	}
	return seen
}

// refuse notes that the watch isn't allowed: its drivers look for another way.
func (w *watcher) refuse() {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	if w.refused {
		return
	}
	w.refused = true
	for d := range w.drivers {
		d.post(d.refollow)
	}
}

// miss notes that the cluster doesn't serve the kind. It returns of how many
// watches that is so.
func (w *watcher) miss() int {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	if !w.missing && w.hub.watchers[w.scope] == w {
		w.missing = true
		w.hub.missing++
	}
	return w.hub.missing
}

// see passes on what the watch sees.
func (w *watcher) see(ev cluster.Event) bool {
	if ev.Listing != nil {
		w.allowed()
		w.list(ev.Listing)
		return true
	}
	for _, d := range w.concerned(ev.Object, ev.Deleted) {
		d.post(func() { d.observe(ev.Object, ev.Deleted) })
	}
	return true
}

// allowed notes that the watch is open.
func (w *watcher) allowed() {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	if w.missing {
		w.missing = false
		w.hub.missing--
		for d := range w.drivers {
			d.post(d.tryAgain)
		}
	}
	if !w.refused {
		return
	}
	w.refused = false
	for d := range w.drivers {
		d.post(d.refollow)
	}
}

// list passes on a listing, to each driver its own part of it.
func (w *watcher) list(all *cluster.Listing) {
	parts := map[*driver][]unstructured.Unstructured{}
	w.hub.mu.Lock()
	clear(w.owners)
	for d := range w.drivers {
		parts[d] = nil
		if w.scope.name != "" {
			parts[d] = all.Objects
		}
	}
	if w.scope.name == "" {
		for _, obj := range all.Objects {
			if d := w.ownerOf(&obj); d != nil {
				w.owners[obj.GetUID()] = d
				parts[d] = append(parts[d], obj)
			}
		}
	}
	w.hub.mu.Unlock()
	for d, part := range parts {
		d.post(func() { d.observeAll(w.scope, all.ResourceVersion, part) })
	}
}
