package share

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/applier/cluster"
)

// watcher is one watch and its subscribers. The hub's lock guards all fields
// below cancel, and cancel itself.
type watcher struct {
	hub       *hub
	selection Selection
	client    *cluster.Client

	opening *time.Timer // only the goroutine of the watcher uses it

	cancel   context.CancelFunc // nil until the watcher runs
	refused  bool               // by the API server, as far as is known
	unserved bool               // the cluster doesn't serve the kind
	failing  bool               // the API server can't list or watch the kind, or can't be reached
	broken   bool               // it couldn't for brokenAfter, although it can others
	// listed is set when the subscribers were notified of the first list. A graph
	// that follows an object from then on has missed the events before.
	listed bool
	// surveys wait for the first list.
	surveys []*firstLists
	// newest is the newest version that is known to have existed, least is that of the time
	// when the list began, and again makes the watch begin again with a list. Again is nil
	// while no watch is open.
	newest, least string
	again         context.CancelFunc
	request       cluster.Selection // what the watch selects
	// listing has the objects that the list of a shared watch covers: those that
	// graphs followed when it began.
	listing map[objectName]bool
	// followers are the graphs that follow an object.
	followers map[objectName][]Graph
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
	// brokenAfter is how long a kind can't be watched before its objects count as unknown.
	brokenAfter = 30 * time.Second
	// openAfter is how long after its list a watch that was refused the last time counts
	// as open: the list may be allowed although the watch isn't.
	openAfter = 2 * time.Second
	// steady is how long a watch has to be open to count as not having ended at once.
	steady = 30 * time.Second
)

// unservedPause returns the pause of each of several watches of kinds that the
// cluster doesn't serve, or can't list. It grows with their number, because graphs may
// name any number of such kinds, and must not cost more requests for it.
func unservedPause(pause time.Duration, unserved int) time.Duration {
	return min(pause, maxUnserved) * time.Duration(1+unserved/fewUnserved)
}

// refusedPause returns the pause of a watch that was refused a number of times in a row.
// Every try lists the object, so many watches by name of one graph are tried more rarely.
func refusedPause(most time.Duration, refusals, named int) time.Duration {
	return min(most, time.Second<<min(refusals, 10)) * time.Duration(1+named/2)
}

// relist returns a context for one watch. It ends after about the hub's relist
// interval: the next list shows what events have not, for whatever reason. The
// intervals differ, so that the lists of many kinds don't coincide.
//
// A watch of one object by name serves few graphs, so these watches of a graph share
// the interval: each of three begins again after three intervals.
func (w *watcher) relist(ctx context.Context) (context.Context, context.CancelFunc) {
	interval := w.hub.relist * time.Duration(w.named())
	if interval <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, interval/2+rand.N(interval/2+1))
}

// named returns how many watches by name its subscriber with the most of them has,
// and 1 for any other watch.
func (w *watcher) named() int {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	most := 1
	if w.selection.Name == "" {
		return most
	}
	for g := range w.subscribers() {
		byName := map[*watcher]bool{}
		for _, f := range w.hub.subscriptions[g] {
			if f.by.selection.Name != "" {
				byName[f.by] = true
			}
		}
		most = max(most, len(byName))
	}
	return most
}

// run watches until ctx is done. Every time the watch is opened it begins with
// a list, so that nothing that happens in between is missed.
func (w *watcher) run(ctx context.Context) {
	refusals := 0
	var worked time.Time // the last time that there was a list
	for pause := MinPause; ctx.Err() == nil; {
		began := time.Now()
		if worked.IsZero() {
			worked = began
		}
		wait := pause
		var noKind *cluster.NoKindError
		failing := false
		watching, cancel := w.relist(ctx)
		request := w.begin(cancel)
		err := w.client.ListAndWatch(watching, request, w.keep(), w.observe)
		if w.opening != nil {
			w.opening.Stop()
		}
		w.end()
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case apierrors.IsForbidden(err), apierrors.IsMethodNotSupported(err):
			// The role may be about to be created, for example together with the graph.
			w.setRefused()
			refusals++
			wait = refusedPause(w.hub.retryRefused, refusals, w.named())
		case err == nil:
			refusals = 0
		case errors.As(err, &noKind):
			// The objects were deleted together with their kind.
			wait = unservedPause(pause, w.setUnserved())
			w.observeList(&cluster.Listing{Selection: request})
		case cluster.ConcernsKind(err):
			failing = true
			wait = unservedPause(pause, w.setFailing(time.Since(worked) >= brokenAfter))
		case w.hub.distant && cluster.Unreachable(err) != nil:
			failing = true
			w.setFailing(time.Since(worked) >= brokenAfter)
		}
		if err != nil {
			w.firstListFailed()
		}
		if !failing {
			worked = time.Now()
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

// begin notes that the watch begins with a list, and returns what it selects. Again ends it.
func (w *watcher) begin(again context.CancelFunc) cluster.Selection {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	w.again, w.least, w.request = again, w.newest, w.selection.Request(w.hub.managed())
	return w.request
}

// reselected reports whether the watch selects other objects than it did when it began. The caller holds
// the hub's lock.
func (w *watcher) reselected() bool { return w.request != w.selection.Request(w.hub.managed()) }

// end notes that the watch ended.
func (w *watcher) end() {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	w.again = nil
}

// keep begins a list. It returns which objects to keep of it, nil for all: those of a
// shared watch that no graph follows are dropped page by page, because they may be
// many and large.
func (w *watcher) keep() func(*unstructured.Unstructured) bool {
	if !w.selection.All {
		return nil
	}
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	listing := make(map[objectName]bool, len(w.followers))
	for name := range w.followers {
		listing[name] = true
	}
	w.listing = listing
	return func(obj *unstructured.Unstructured) bool { return listing[nameOf(obj)] }
}

// missesFollowed reports whether graphs follow objects that the last list of a shared
// watch doesn't cover.
func (w *watcher) missesFollowed() bool {
	if !w.selection.All {
		return false
	}
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	for name := range w.followers {
		if !w.listing[name] {
			return true
		}
	}
	return false
}

// setRefused records that the API server refuses the watch. Subscribers look for
// another way.
func (w *watcher) setRefused() {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	w.served()
	if !w.refused {
		w.refused = true
		w.notifyAll(AccessChanged)
	}
}

// served records that the cluster serves the kind. The caller holds the hub's lock.
func (w *watcher) served() {
	if w.unserved {
		w.unserved = false
		w.hub.unserved--
		w.notifyAll(KindServed)
	}
}

// isRefused reports whether the API server refused the watch the last time.
func (w *watcher) isRefused() bool {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	return w.refused
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

// setFailing records that the API server can't list or watch the kind, and returns the
// number of such watches. With long, that has lasted for brokenAfter: the subscribers then
// learn that they don't know the state of their objects. If all watches fail, the API server
// is down. Then nothing would be gained by reading all objects, unless it is a distant one,
// whose graphs have to report it.
func (w *watcher) setFailing(long bool) int {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	w.failing = true
	failing := 0
	for _, other := range w.hub.watchers {
		if other.failing {
			failing++
		}
	}
	if long && !w.broken && (w.hub.distant || failing < len(w.hub.watchers) || failing == 1) {
		w.broken = true
		w.notifyAll(KindBroken)
	}
	return failing
}

// setOpen records that the watch is open.
func (w *watcher) setOpen() {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	w.failing = false
	if w.broken {
		w.broken = false
		w.notifyAll(KindServed)
	}
	w.served()
	if w.refused {
		w.refused = false
		w.notifyAll(AccessChanged)
	}
}

// notifyAll notifies all subscribers. The caller holds the hub's lock.
func (w *watcher) notifyAll(t ObservationType) {
	for g := range w.subscribers() {
		g.Notify(Observation{Type: t})
	}
}

// observe hands an event of the watch over to the subscribers. It returns true
// to go on watching.
func (w *watcher) observe(ev cluster.Event) bool {
	if ev.Listing != nil {
		if w.isRefused() {
			w.opening = time.AfterFunc(openAfter, w.setOpen)
		} else {
			w.setOpen()
		}
		// What was followed since the list began may have changed before it was read.
		missing := w.missesFollowed()
		return w.observeList(ev.Listing) && !missing
	}
	o := Observation{Type: ObjectChanged, Object: ev.Object}
	if ev.Deleted {
		o.Type = ObjectDeleted
	}
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	w.sawVersion(ev.Object.GetResourceVersion())
	for _, g := range w.followers[nameOf(ev.Object)] {
		g.Notify(o)
	}
	return true
}

// observeList hands each subscriber its part of a list. A subscriber without
// objects gets an empty list: that is how it learns that they were deleted. A list of what isn't
// selected any more is dropped, and observeList returns false.
func (w *watcher) observeList(all *cluster.Listing) bool {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	if w.reselected() {
		return false
	}
	w.listed = true
	if w.wentBack(all.ResourceVersion) {
		w.notifyAll(HistoryRewritten)
	}
	parts := map[Graph][]unstructured.Unstructured{}
	for i := range all.Objects {
		for _, g := range w.followers[nameOf(&all.Objects[i])] {
			parts[g] = append(parts[g], all.Objects[i])
		}
	}
	for g := range w.subscribers() {
		if w.selection.All {
			w.notifyListed(g, all, parts[g])
			continue
		}
		g.Notify(Observation{Type: Listed, Selection: w.selection, Version: all.ResourceVersion, Objects: parts[g]})
	}
	w.firstListed(true)
	return true
}

// notifyListed hands a graph its part of a list of a shared watch, in one listing per
// object: the list covers only the objects that the graph follows.
func (w *watcher) notifyListed(g Graph, all *cluster.Listing, objects []unstructured.Unstructured) {
	byName := make(map[string][]unstructured.Unstructured, len(objects))
	for _, obj := range objects {
		byName[obj.GetName()] = append(byName[obj.GetName()], obj)
	}
	listed := map[string]bool{}
	for _, f := range w.hub.subscriptions[g] {
		if f.by != w || listed[f.name] || !w.listing[f.objectName] {
			continue // a target has two names while the scope of its kind isn't known
		}
		listed[f.name] = true
		s := w.selection
		s.All, s.Name = false, f.name
		g.Notify(Observation{Type: Listed, Selection: s, Version: all.ResourceVersion, Objects: byName[f.name]})
	}
}
