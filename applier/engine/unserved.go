package engine

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
