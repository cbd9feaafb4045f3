package engine

import (
	"errors"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/readiness"
	"github.com/pequod-io/pequod/inventory"
)

// removalDecision is the next action for an object that left the graph.
type removalDecision int

const (
	removeRead      removalDecision = iota // read it first
	removeGone                             // it is gone
	removeForeign                          // it belongs to another graph or to none: leave it alone
	removeDuplicate                        // it is the object of a node, under another key
	removeWait                             // it is being deleted
	removeDelete
	removeRelease
	removeKeep     // release it, because of an annotation
	removeHandOver // to another graph that lists it
)

// decideRemoval decides about an object that left the graph. The owner is the one
// that the object is handed over to. It is a pure function of what was observed
// and recorded.
func (e *Engine) decideRemoval(r *removal, seen *observation) (removalDecision, *inventory.Owner) {
	switch {
	case seen == nil:
		return removeRead, nil
	case seen.absent && r.status.Op == "" && e.step.now.Sub(seen.at) > maxAge:
		// A run that was killed may have created it since.
		return removeRead, nil
	case seen.absent:
		return removeGone, nil
	case !e.owns(r.entry.Key, seen):
		return removeForeign, nil
	case seen.deleting:
		return removeWait, nil
	case e.keeps(seen.uid):
		return removeDuplicate, nil
	case e.removals.claims.value != nil:
		live := r.entry
		live.UID = seen.uid
		if other, ok := e.removals.claims.value.Except(r.refused).Of(live); ok {
			return removeHandOver, &other
		}
	}
	// An object that the graph still reads or mirrors must not be deleted.
	if r.entry.Orphan || e.opts.Orphan || e.nodes.byKey[r.entry.Key] != nil {
		return removeRelease, nil
	}
	if seen.kept != "" {
		return removeKeep, nil
	}
	return removeDelete, nil
}

// keeps reports whether the object with a UID is that of a node. One object can have
// several keys: another API group may serve its kind.
func (e *Engine) keeps(uid types.UID) bool {
	if e.step.kept == nil {
		e.step.kept = inventory.Kept(slices.Collect(maps.Values(e.ledger.entries)), e.ledger.desired)
	}
	return e.step.kept[uid]
}

// remove sets the status of an object that left the graph and requests the next
// action for it. With behind, an object of an earlier level is kept, so this one may
// only be handed over.
func (e *Engine) remove(r *removal, behind bool) {
	r.held = false
	if r.gone || r.write.inFlight {
		return
	}
	seen := e.cache.objects[r.entry.Key]
	decision, newOwner := e.decideRemoval(r, seen)
	switch decision {
	case removeRead:
		e.readRemoval(r)
	case removeGone:
		e.finishGone(r, Deleted, "")
	case removeForeign:
		e.finishGone(r, Released, "no longer belongs to the graph")
	case removeDuplicate:
		e.finishGone(r, Released, "is still part of the graph")
	case removeWait:
		e.waitForDeletion(r, seen)
	case removeDelete, removeRelease, removeKeep:
		if e.hold(r, behind) {
			return
		}
	}
	switch decision {
	case removeDelete:
		e.requestRemoval(r, Action{Verb: Delete}, seen)
	case removeKeep:
		e.requestRemoval(r, Action{Verb: Release, Kept: seen.kept}, seen)
	case removeRelease, removeHandOver:
		e.requestRemoval(r, Action{Verb: Release, NewOwner: newOwner}, seen)
	}
}

// requestRemoval requests a Delete or Release of an observed object.
func (e *Engine) requestRemoval(r *removal, a Action, seen *observation) {
	if e.finishUnserved(r, r.write.failure) {
		return
	}
	if r.write.failedForGood() || e.backingOff(&r.write) {
		r.fail(&r.write, r.write.failure.Error())
		return
	}
	if e.dampedRemoval(r) {
		return
	}
	// The object may be another graph's by now, so claims come first.
	if !e.claimsLoaded() {
		if load := &e.removals.claims.load; load.failure != nil {
			r.fail(load, "can't check whether another graph lists it: "+load.failure.Error())
		}
		return
	}
	a.Key, a.Version, a.UID, a.ResourceVersion = r.entry.Key, r.entry.Version, seen.uid, seen.version
	// The status doesn't show further attempts, because it would change twice with each.
	again := r.status.Phase == v1alpha1.NodeFailed && r.write.failure != nil
	if f := e.opts.Damper.lastFailure(a.Key); f != nil && !again {
		r.refuse(f, e.step.now)
		again = true
	}
	r.write.inFlight = e.requestWrite(a)
	switch {
	case again:
	case r.write.inFlight:
		r.setPhase(v1alpha1.NodeDeleting, "")
	default:
		r.setPhase(v1alpha1.NodePending, "")
	}
}

// waitForDeletion sets the status of an object that is being deleted. A plan
// treats it as gone.
func (e *Engine) waitForDeletion(r *removal, seen *observation) {
	r.write.succeed()
	r.setPhase(v1alpha1.NodeDeleting, readiness.DeletionMessage(seen.finalizers))
	r.status.Op = Deleted
	if e.opts.Mode == ModePlan {
		r.gone = true
		delete(e.ledger.entries, r.entry.Key)
		return
	}
	e.pollRemoval(r, seen)
}

// readRemoval requests an object that left the graph and about which nothing is
// known.
func (e *Engine) readRemoval(r *removal) {
	if r.read.inFlight {
		return
	}
	if e.finishUnserved(r, r.read.failure) {
		return
	}
	if f := r.read.failure; f != nil && f.Reason == ReasonForbidden && r.entry.UID == "" {
		// The object was never applied. An account that may not read it can't have
		// created it, and waiting for permission would block the graph forever.
		e.finishGone(r, Released, "was never applied and can't be read: "+f.Message)
		return
	}
	if r.read.failedForGood() || e.backingOff(&r.read) {
		r.fail(&r.read, r.read.failure.Error())
		return
	}
	if f := e.opts.Damper.refuse(r.entry.Key, e.step.now); f != nil {
		r.refuse(f, time.Time{})
		return
	}
	r.read.inFlight = true
	e.request(Action{Verb: Read, Key: r.entry.Key, Version: r.entry.Version})
}

// finishGone ends a removal: the object is gone or belongs to another owner.
func (e *Engine) finishGone(r *removal, op Operation, message string) {
	r.gone = true
	delete(e.ledger.entries, r.entry.Key)
	r.setPhase(v1alpha1.NodeGone, message)
	if r.status.Op == "" {
		r.status.Op = op
	}
}

// finishWrite receives the outcome of a Delete or Release. N is set if the object
// is deleted to be recreated. A successful Delete doesn't mean that the object is
// gone: that is known only when it is observed.
func (e *Engine) finishWrite(a Action, n *node, o Outcome) {
	r := e.removals.byKey[a.Key]
	var state *retryState
	switch {
	case n != nil:
		state = &n.progress.write
	case r != nil:
		state = &r.write
	default:
		return // the object isn't tracked any more
	}
	state.inFlight = false
	if r != nil {
		r.noteServed(o.Err, e.step.now)
	}
	switch {
	case isKeepChanged(o.Err):
		state.succeed()
		if n != nil {
			n.progress.recreating = false
		}
		e.Forget(a.Key)
		return // the next step decides by the annotations that the object has now
	case r != nil && a.NewOwner != nil && isClaimRefused(o.Err):
		state.succeed()
		r.refused = append(r.refused, *a.NewOwner)
		return // the next step decides without that graph
	case o.Err != nil:
		e.removedInVain(a, state, o.Err)
		if !state.failure.Terminal {
			e.Forget(a.Key) // the request may have been executed nevertheless
		}
		return
	case a.Verb == Delete && o.Object != nil && o.Object.GetUID() == a.UID && o.Object.GetDeletionTimestamp() == nil:
		e.removedInVain(a, state, &Failure{Reason: ReasonDeleteFailed, Message: "still exists after it was deleted"})
		e.observeOutcome(a, o.Object)
		return
	}
	if e.opts.Damper.writeSucceeded(a.Key) {
		e.retryRefused()
	}
	switch {
	case n != nil:
		n.progress.write.succeed()
	case a.Verb == Delete:
		r.write.succeed()
		r.status.Op = Deleted
	case a.Verb == Release && a.Kept != "":
		e.finishGone(r, Released, a.Kept)
		r.status.Reason = ReasonKept
	case a.Verb == Release:
		e.finishGone(r, Released, "")
	}
	e.observeOutcome(a, o.Object)
}

// removedInVain records that a Delete or Release failed.
func (e *Engine) removedInVain(a Action, state *retryState, err error) {
	state.fail(err, e.step.now, e.opts.Backoff)
	e.opts.Damper.wroteInVain(a.Key, state.failure, e.step.now)
}

// isClaimRefused reports whether an object couldn't be handed over because of the
// graph that lists it.
func isClaimRefused(err error) bool {
	var f *Failure
	return errors.As(err, &f) && f.Reason == ReasonClaimRefused
}

// isKeepChanged reports whether an object wasn't removed because it got or lost an
// annotation that forbids its deletion.
func isKeepChanged(err error) bool {
	var f *Failure
	return errors.As(err, &f) && f.Reason == ReasonKeepChanged
}
