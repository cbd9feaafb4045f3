package engine

import (
	"errors"
	"time"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/inventory"
)

// removals are the objects that left the graph, and the progress of their
// removal. In [ModeDelete] these are all objects of the inventory.
type removals struct {
	// levels are removed one after the other: objects of a level may depend on
	// objects of later levels. Nil until it is known which objects left.
	levels [][]*removal
	byKey  map[inventory.Key]*removal
	// level is the index of the first level that isn't gone.
	level int
	// pruning is set when every node was ready for the first time. From then on
	// all levels are removed and shown; before, objects are only handed over.
	pruning bool
	// handedOver is set if every object that another graph lists was handed over.
	handedOver bool
	claims     claims
	// held is the number of objects that aren't removed yet because of a grace
	// period, and nextPrune is when the first of these periods ends.
	held      int
	nextPrune time.Time
}

// claims caches which objects other graphs list.
type claims struct {
	// value is nil until it was loaded.
	value    *inventory.Claims
	loadedAt time.Time
	load     retryState
	// outdated is set if the load in flight began before another graph's change.
	outdated bool
}

// removal is an object that left the graph.
type removal struct {
	entry    inventory.Entry
	write    retryState // of Delete and Release
	read     retryState
	unserved unserved
	// refused are graphs that list the object and can't take it.
	refused []inventory.Owner
	// gone is set when the object was deleted, released or handed over.
	gone bool
	// held is set while the object is kept for a grace period.
	held   bool
	status Status
	// reported is the status in the last Step.Changes that had one.
	reported Status
}

// unserved is since when the cluster serves no version of a kind, zero if it serves one.
type unserved struct {
	since time.Time
	// confirmed is set when that lasted long enough to be no mistake.
	confirmed bool
}

// newRemoval returns a removal that hasn't begun.
func newRemoval(entry inventory.Entry) *removal {
	return &removal{entry: entry, status: Status{
		Key: entry.Key, Version: entry.Version, Wave: entry.Wave, Phase: v1alpha1.NodePending,
	}}
}

// setPhase sets the phase and message.
func (r *removal) setPhase(phase v1alpha1.NodePhase, message string) {
	r.status.Phase, r.status.Message, r.status.Reason = phase, message, ""
	r.status.Attempts, r.status.NextAttempt = r.write.failures, time.Time{}
}

// fail sets the phase to Failed because of an action in state s.
func (r *removal) fail(s *retryState, message string) {
	r.setPhase(v1alpha1.NodeFailed, message)
	r.status.Reason, r.status.Attempts = s.failure.Reason, s.failures
	if !s.failure.Terminal {
		r.status.NextAttempt = s.retryAt
	}
}

// refuse sets the phase to Failed because the object must not be tried before next, zero
// if the engine doesn't try it again.
func (r *removal) refuse(f *Failure, next time.Time) {
	r.setPhase(v1alpha1.NodeFailed, f.Error())
	r.status.Reason, r.status.NextAttempt = f.Reason, next
}

// visible yields the removals to report: all of them while pruning, before that
// only those that have begun.
func (r *removals) visible(yield func(*removal) bool) {
	for _, level := range r.levels {
		for _, removal := range level {
			if (r.pruning || removal.status.Phase != v1alpha1.NodePending) && !yield(removal) {
				return
			}
		}
	}
}

// confirmUnserved is how long a kind has to be missing before its objects are given
// up: one of several API servers may not know of a kind yet that the others serve.
const confirmUnserved = 5 * time.Second

// noteServed receives the result of an action on an object that left the graph. It
// records since when the cluster serves no version of the kind.
func (r *removal) noteServed(err error, now time.Time) {
	var f *Failure
	switch {
	case !errors.As(err, &f) || f.Reason != ReasonUnknownKind:
		r.unserved = unserved{}
	case r.unserved.since.IsZero():
		r.unserved.since = now
	case now.Sub(r.unserved.since) >= confirmUnserved:
		r.unserved.confirmed = true
	}
}
