package share

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/pequod-io/pequod/applier/engine"
)

// The first list of a watch answers the surveys of all graphs that subscribed to the
// watch before it arrived. So an applier that starts lists and decodes each object
// once, however many graphs there are.

// firstLists is a survey that waits for the first lists of watches. The hub's lock
// guards it.
type firstLists struct {
	missing int // lists that haven't arrived
	// then is called once: with true when all lists arrived, and with false when one
	// of them isn't going to. It neither blocks nor calls the hub. Nil after the call.
	then func(listed bool)
}

// end calls then, unless it was called before.
func (f *firstLists) end(listed bool) {
	if f.then != nil {
		f.then(listed)
		f.then = nil
	}
}

// awaitFirstLists calls then when g was notified of the first lists of all watches that
// cover the targets, see [firstLists]. It returns false, and never calls then, if one of
// the lists was before g followed its target, or can't be made.
func (h *hub) awaitFirstLists(g Graph, targets []engine.Target, then func(listed bool)) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	var awaited []*watcher
	for _, t := range targets {
		w := h.watchers[Selection{GVK: KindOf(t)}]
		if w == nil || w.refused || w.listed || !w.follows(g, h.namesOf(t)[0]) {
			return false
		}
		if !slices.Contains(awaited, w) {
			awaited = append(awaited, w)
		}
	}
	if len(awaited) == 0 {
		return false
	}
	f := &firstLists{missing: len(awaited), then: then}
	for _, w := range awaited {
		w.surveys = append(w.surveys, f)
	}
	return true
}

// firstListed ends the wait for the first list of a watch, which arrived or isn't going
// to. The caller holds the hub's lock.
func (w *watcher) firstListed(arrived bool) {
	for _, f := range w.surveys {
		if f.missing--; f.missing == 0 || !arrived {
			f.end(arrived)
		}
	}
	w.surveys = nil
}

// firstListFailed is firstListed for a list that failed.
func (w *watcher) firstListFailed() {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	w.firstListed(false)
}

// gather returns when fewer than minShared graphs are about to subscribe. These graphs wait for
// a step or, after a start, for what their first run reads. A graph that comes too late makes all
// objects be listed again, so gather waits as long as those of a start become fewer.
func (h *hub) gather(ctx context.Context) {
	for p := newPatience(); ctx.Err() == nil && p.waitFor(h.waiting(), h.startingGraphs()); {
		time.Sleep(gatherPause)
	}
}

// patience decides how long to wait for graphs that are about to need the same list.
type patience struct {
	fewest   int       // starting graphs so far
	end, max time.Time // when the wait ends without progress, and in any case
}

func newPatience() *patience {
	now := time.Now()
	return &patience{fewest: math.MaxInt, end: now.Add(gatherTime), max: now.Add(maxGatherTime)}
}

// waitFor reports whether to wait for graphs whose steps wait, and for those that are starting.
func (p *patience) waitFor(waiting, starting int) bool {
	now := time.Now()
	if starting < p.fewest {
		p.fewest, p.end = starting, now.Add(gatherTime)
	}
	return max(waiting, starting) >= minShared && now.Before(p.end) && now.Before(p.max)
}
