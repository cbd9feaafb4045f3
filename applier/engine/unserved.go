package engine

import (
	"errors"
	"time"
)

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

// finishUnserved ends a removal if the last action failed because the cluster serves
// no version of the object's kind, and reports whether it did. If the kind was removed
// with its CustomResourceDefinition, so were its objects. Otherwise the object is
// orphaned: nothing can reach it. The status says so, unless the object was never
// applied or its deletion was requested.
//
// If the kind may come back, the removal goes on, unless a user gave all objects up.
func (e *Engine) finishUnserved(r *removal, f *Failure) bool {
	writes := e.opts.Mode == ModeApply || e.opts.Mode == ModeDelete
	switch {
	case f == nil:
		return false
	case f.Reason == ReasonKindUnavailable && e.opts.Orphan:
		e.finishGone(r, Released, "is orphaned with its labels: "+f.Message)
	case f.Reason != ReasonUnknownKind, writes && !r.unserved.confirmed:
		return false
	case r.entry.UID == "" || r.status.Op == Deleted:
		e.finishGone(r, Deleted, "")
		return true
	default:
		e.finishGone(r, Released, "the cluster serves no version of its kind: unless the object was deleted with the kind, it is orphaned")
	}
	r.status.Reason = f.Reason
	return true
}
