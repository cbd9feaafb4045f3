package engine

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/resourceversion"
	"github.com/pequod-io/pequod/inventory"
)

// read requests the object of a node about which nothing is known.
func (e *Engine) read(n *node) {
	state := &n.progress.read
	if state.inFlight {
		return
	}
	if e.backingOff(state) {
		n.failBecause(state, "")
		return
	}
	if f := e.opts.Damper.refuse(n.key, e.step.now); f != nil {
		n.progress.refused = true
		e.put(n.key, unreadableObservation(f, e.step.now))
		n.fail(f)
		return
	}
	state.inFlight = true
	if n.status.Phase != v1alpha1.NodeFailed {
		n.setPhase(v1alpha1.NodePending, "")
	}
	e.request(Action{Verb: Read, Key: n.key, Version: n.version, Node: n.ID})
}

// finishRead receives the outcome of a Read. N is nil for an object that left the
// graph.
func (e *Engine) finishRead(a Action, n *node, o Outcome) {
	var state *retryState
	if n != nil {
		state = &n.progress.read
	} else if r := e.removals.byKey[a.Key]; r != nil {
		r.noteServed(o.Err, e.step.now)
		state = &r.read
	} else {
		return // the object isn't tracked any more
	}
	state.inFlight = false
	if o.Err != nil {
		state.fail(o.Err, e.step.now, e.opts.Backoff)
		e.finishFailedRead(a, n, state.failure)
		return
	}
	state.succeed()
	if e.opts.Damper.readSucceeded(a.Key) {
		e.retryRefused()
	}
	defer e.notePoll(a)
	e.noteVersion(a.Key, o.Object)
	if n != nil && n.progress.unverified == a.unverified {
		n.progress.unverified = ""
	}
	if o.Object != nil {
		e.vouch(a.Key)
	}
	if o.Object != nil && e.cache.objects[a.Key] == nil {
		// Observe would ignore it if a list is newer.
		if !e.outdated(a, o.Object) {
			e.put(a.Key, e.newObservation(a.Key, o.Object))
		}
		return
	}
	e.observeOutcome(a, o.Object)
}

// finishFailedRead receives the failure of a Read. N is nil for an object that left
// the graph. If the read was to verify what a watch reported, the known state
// doesn't count any more.
func (e *Engine) finishFailedRead(a Action, n *node, failure *Failure) {
	switch {
	case n == nil:
		e.opts.Damper.readInVain(a.Key, failure, e.step.now)
	case e.cache.objects[a.Key] != nil && a.unverified == "":
	case failure.Terminal:
		e.opts.Damper.readInVain(n.key, failure, e.step.now)
		n.progress.unverified = ""
		e.put(a.Key, unreadableObservation(failure, e.step.now))
	case a.unverified != "":
		e.Forget(a.Key)
	}
}

// outdated reports whether the answer to a Read of an object about which nothing is
// known is older than a deletion, or than a list without the object that arrived
// since the request. Such an object has to be read again.
func (e *Engine) outdated(a Action, obj *unstructured.Unstructured) bool {
	listed := e.cache.listed[locationOf(a.Key)]
	return e.cache.tombstones.deleted(a.Key, obj) ||
		listed != a.listed && e.owner.Owns(obj.GetLabels()) && resourceversion.Older(obj.GetResourceVersion(), listed)
}

// noteVersion records the API version in which an object that left the graph was
// found, if the recorded version isn't served any more. Its watch needs that version.
func (e *Engine) noteVersion(key inventory.Key, obj *unstructured.Unstructured) {
	r := e.removals.byKey[key]
	if r == nil || obj == nil || obj.GroupVersionKind().Version == r.entry.Version {
		return
	}
	r.entry.Version = obj.GroupVersionKind().Version
	r.status.Version = r.entry.Version
	if entry, ok := e.ledger.entries[key]; ok {
		entry.Version = r.entry.Version
		e.ledger.entries[key] = entry
	}
}

// observeOutcome receives the object of an outcome, nil if it doesn't exist.
func (e *Engine) observeOutcome(a Action, obj *unstructured.Unstructured) {
	if obj == nil {
		e.observeAbsent(a.Key, a.before)
		return
	}
	e.observe(obj)
}
