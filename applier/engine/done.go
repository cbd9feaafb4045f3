package engine

import (
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/fields"
	"github.com/pequod-io/pequod/inventory"
)

// Done tells the engine what came of an action that it asked for.
func (e *Engine) Done(a Action, o Outcome) {
	e.flying--
	n := e.byID[a.Node]
	if a.Node == "" {
		n = nil
	}
	if n != nil {
		n.stale = true
	}
	switch a.Verb {
	case Survey:
		e.doneSurvey(a, o)
	case Record:
		e.doneRecord(o)
	case LoadClaims:
		e.doneOthers(o)
	case Compare:
		if n != nil && n.state.compared != "" {
			n.status.Drifted, n.status.Taken, n.touched = true, o.Taken, true
		}
	case Explain:
		if n != nil && o.Err == nil && n.status.Phase != v1alpha1.NodeReady {
			n.state.cause = o.Message
		}
	case Read:
		e.doneRead(a, n, o)
	case Apply:
		e.doneApply(a, n, o)
	case Delete, Release:
		e.doneRemoval(a, n, o)
	}
}

func (e *Engine) doneSurvey(a Action, o Outcome) {
	e.survey.flying = false
	if o.Err != nil {
		e.failed(&e.survey, o.Err)
		for _, n := range e.nodes {
			e.failOf(n, &e.survey, "the objects can't be read: ")
		}
		if e.survey.failure.Terminal {
			e.stop = o.Err
		}
		return
	}
	e.survey.succeeded()
	e.surveyed = true
	for _, t := range a.Targets {
		// What can't be told yet is read when its turn comes.
		if _, unseen := o.Unreadable[t.Key]; !unseen && e.world[t.Key] == nil {
			e.learn(t.Key, e.nothing(""))
		}
	}
	for _, obj := range o.Objects {
		if key := e.keyOfObject(obj); !e.knows(key) && e.lost {
			e.recover(key, obj)
		}
		e.Observe(obj)
	}
	e.lost = false
}

// recover takes an object into an inventory that was lost.
func (e *Engine) recover(key inventory.Key, obj *unstructured.Unstructured) {
	if entry, ok := recovered(e.owner, obj, e.evident(obj)); ok {
		e.entries[key] = entry
		e.intent = false
	}
}

// RecoverEntry is the entry of an object that shows by itself that it is a
// graph's: the graph's labels were put there by [FieldManager], and nothing else
// owns it.
func RecoverEntry(owner inventory.Owner, obj *unstructured.Unstructured) (inventory.Entry, bool) {
	return recovered(owner, obj, labelled(obj, func(manager string) bool { return manager == FieldManager }))
}

func recovered(owner inventory.Owner, obj *unstructured.Unstructured, evident bool) (inventory.Entry, bool) {
	if !evident || !owner.Owns(obj.GetLabels()) || len(obj.GetOwnerReferences()) > 0 {
		return inventory.Entry{}, false
	}
	gvk := obj.GroupVersionKind()
	return inventory.Entry{
		Key: KeyOf(obj), Version: gvk.Version, UID: obj.GetUID(), Orphan: !Recreatable(gvk.GroupKind()),
	}, true
}

func (e *Engine) doneRecord(o Outcome) {
	e.record.flying = false
	if o.Err != nil {
		e.failed(&e.record, o.Err)
		if e.record.failure.Terminal {
			e.stop = o.Err
		}
		return
	}
	e.record.succeeded()
	e.saved = o.Saved
	e.intent = true
}

func (e *Engine) doneOthers(o Outcome) {
	e.asked.flying = false
	if o.Err != nil {
		e.failed(&e.asked, o.Err)
		return
	}
	e.asked.succeeded()
	e.claims, e.claimed = &o.Claims, e.now
}

func (e *Engine) doneRead(a Action, n *node, o Outcome) {
	var look *failureState
	if n != nil {
		look = &n.state.look
	} else if l := e.leavers[a.Key]; l != nil {
		look = &l.look
	} else {
		return
	}
	look.flying = false
	if o.Err != nil {
		e.failed(look, o.Err)
		if n != nil && look.failure.Terminal && e.world[a.Key] == nil {
			e.learn(a.Key, &observed{err: look.failure, at: e.now})
		}
		return
	}
	look.succeeded()
	if o.Object != nil && e.world[a.Key] == nil {
		e.learn(a.Key, e.look(a.Key, o.Object)) // however old it is
		return
	}
	e.see(a, o.Object)
}

// see takes in the object that an action answered with.
func (e *Engine) see(a Action, obj *unstructured.Unstructured) {
	if obj == nil {
		e.seeGone(a.Key, a.was)
		return
	}
	e.Observe(obj)
}

func (e *Engine) doneApply(a Action, n *node, o Outcome) {
	n.state.flying = false
	if o.Err != nil {
		e.failed(&n.state.failureState, o.Err)
		var f *Failure
		if !errors.As(o.Err, &f) || !f.Terminal {
			e.Forget(n.key) // whether it was written isn't known
		}
		if f != nil && f.Reason == ReasonExists && n.state.failures == 1 {
			n.state.retryAt = e.now // what it is decides what is done, and that is to be read only
		}
		if o.Object != nil {
			e.Observe(o.Object)
		}
		return
	}
	n.state.succeeded()
	e.Observe(o.Object)
	live, err := fields.OwnedDigest(o.Object, n.manager, n.ignore)
	if err != nil {
		e.failed(&n.state.failureState, &Failure{Reason: ReasonInvalid, Message: err.Error(), Terminal: true})
		return
	}
	entry := e.entries[n.key]
	entry.Version, entry.UID, entry.Desired, entry.Live = n.version, o.Object.GetUID(), n.state.digest, live
	e.entries[n.key] = entry
	n.state.op = operation(a, o, n.state.recreating)
	n.state.recreating = false
	n.state.began, n.state.cause = noTime, ""
	n.status.Taken, n.touched = o.Taken, true
	if o.Created || o.Changed {
		n.status.AppliedAt = e.now
	}
}

func operation(a Action, o Outcome, recreating bool) Operation {
	switch {
	case o.Created && recreating:
		return Recreated
	case o.Created:
		return Created
	case a.Apply.Adopt:
		return Adopted
	case a.Apply.Drift && o.Changed:
		return Corrected
	case o.Changed:
		return Configured
	}
	return Unchanged
}

// doneRemoval notes what came of a Delete or Release. That an object is gone is
// known only when it is seen to be.
func (e *Engine) doneRemoval(a Action, n *node, o Outcome) {
	state := e.stateOf(a.Key, n)
	if state == nil {
		return
	}
	state.flying = false
	l := e.leavers[a.Key]
	switch {
	case o.Err != nil:
		if e.failed(state, o.Err); !state.failure.Terminal {
			e.Forget(a.Key) // whether it was done isn't known
		}
		return
	case a.Verb == Delete && o.Object != nil && o.Object.GetUID() == a.UID && o.Object.GetDeletionTimestamp() == nil:
		e.failed(state, &Failure{Reason: ReasonDeleteFailed, Message: "is still there after it was deleted"})
	case n != nil:
		n.state.succeeded()
	case a.Verb == Delete:
		l.succeeded()
		l.status.Op = Deleted
	case a.Verb == Release:
		e.left(l, Released, "")
	}
	e.see(a, o.Object)
}

// stateOf finds the state of a node, or of an object that left the graph.
func (e *Engine) stateOf(key inventory.Key, n *node) *failureState {
	if n != nil {
		return &n.state.failureState
	}
	if l := e.leavers[key]; l != nil {
		return &l.failureState
	}
	return nil
}

// Rebase takes an inventory that somebody else recorded in the meantime: a run
// of the same revision.
func (e *Engine) Rebase(stored *inventory.Inventory) {
	e.saved = stored
	e.record.succeeded()
	for _, entry := range inventory.Union(stored.Entries, e.wanted) {
		if e.entries[entry.Key].UID == "" {
			e.entries[entry.Key] = entry
		}
	}
	for _, n := range e.nodes {
		n.stale = true
	}
}
