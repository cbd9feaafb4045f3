package engine

import (
	"time"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/inventory"
)

// fate is what becomes of an object that left the graph.
type fate int

const (
	fateRead fate = iota
	fateGone
	fateForeign // somebody else's: it is left alone
	fateWait
	fateDelete
	fateRelease
	fateHandOver
)

// decideLeaver looks at nothing but what was observed and recorded.
func (e *Engine) decideLeaver(l *leaver, seen *observed) (fate, *inventory.Owner) {
	switch {
	case seen == nil:
		return fateRead, nil
	case seen.absent && l.status.Op == "" && e.now.Sub(seen.at) > fresh:
		// A run that was killed may have made it since.
		return fateRead, nil
	case seen.absent:
		return fateGone, nil
	case !e.ours(l.entry.Key, seen):
		return fateForeign, nil
	case seen.deleting:
		return fateWait, nil
	case e.claims != nil:
		if other, ok := e.claims.Of(l.entry); ok {
			return fateHandOver, &other
		}
	}
	// What the graph goes on to look at, or lists to be only mirrored, isn't unwanted.
	if l.entry.Orphan || e.opts.Orphan || e.byKey[l.entry.Key] != nil {
		return fateRelease, nil
	}
	return fateDelete, nil
}

func (e *Engine) visitLeaver(l *leaver) {
	if l.gone || l.flying {
		return
	}
	seen := e.world[l.entry.Key]
	fate, to := e.decideLeaver(l, seen)
	switch fate {
	case fateRead:
		e.readLeaver(l)
		return
	case fateGone:
		e.left(l, Deleted, "")
		return
	case fateForeign:
		e.left(l, Released, "is no longer the graph's")
		return
	case fateWait:
		l.succeeded()
		l.show(v1alpha1.NodeDeleting, deletionText(seen))
		l.status.Op = Deleted
		if e.opts.Mode == ModePlan {
			l.gone = true
			delete(e.entries, l.entry.Key)
			return
		}
		e.poll(l.entry.Key, l.entry.Version, "", l.status.Phase, seen, &l.look, &l.polled)
		return
	}
	if l.failure != nil && l.failure.Terminal || e.wait(&l.failureState) {
		l.fail(&l.failureState, l.failure.Message)
		return
	}
	action := Action{Key: l.entry.Key, Version: l.entry.Version}
	switch fate {
	case fateDelete:
		action.Verb = Delete
	case fateRelease, fateHandOver:
		action.Verb, action.NewOwner = Release, to
	}
	action.UID, action.ResourceVersion = seen.uid, seen.version
	// Before anything is removed: does another graph list it?
	if !e.claimsKnown() {
		if e.asked.failure != nil {
			l.fail(&e.asked, "whether another graph lists it can't be told: "+e.asked.failure.Message)
		}
		return
	}
	if !e.write(action) {
		l.show(v1alpha1.NodePending, "")
		return
	}
	l.flying = true
	l.show(v1alpha1.NodeDeleting, "")
}

func (e *Engine) readLeaver(l *leaver) {
	if l.look.flying {
		return
	}
	if f := l.look.failure; f != nil && f.Reason == ReasonForbidden && l.entry.UID == "" {
		// The graph listed it and never had it: who may not look at it can neither
		// have made it nor remove it, and would hold the graph for ever.
		e.left(l, Released, "was never applied, and can't be looked at: "+f.Message)
		return
	}
	if terminal := l.look.failure != nil && l.look.failure.Terminal; terminal || e.wait(&l.look) {
		l.fail(&l.look, l.look.failure.Message)
		return
	}
	l.look.flying = true
	e.ask(Action{Verb: Read, Key: l.entry.Key, Version: l.entry.Version})
}

func (l *leaver) show(phase v1alpha1.NodePhase, message string) {
	l.status.Phase, l.status.Message, l.status.Reason = phase, message, ""
	l.status.Attempts, l.status.NextAttempt = l.failures, noTime
}

func (l *leaver) fail(s *failureState, message string) {
	l.show(v1alpha1.NodeFailed, message)
	l.status.Reason, l.status.Attempts = s.failure.Reason, s.failures
	if !s.failure.Terminal {
		l.status.NextAttempt = s.retryAt
	}
}

// left notes that an object is gone, or another's; from the inventory it goes too.
func (e *Engine) left(l *leaver, op Operation, message string) {
	l.gone = true
	delete(e.entries, l.entry.Key)
	l.show(v1alpha1.NodeGone, message)
	if l.status.Op == "" {
		l.status.Op = op
	}
}

// fresh is how long it counts what other graphs list, and that an object isn't
// there: while this graph waits for something else, others do what they do.
const fresh = 5 * time.Second

// claimsKnown says whether it is known which objects other graphs list, and
// asks if it isn't.
func (e *Engine) claimsKnown() bool {
	if e.claims != nil && e.now.Sub(e.claimed) < fresh {
		return true
	}
	terminal := e.asked.failure != nil && e.asked.failure.Terminal
	if !e.asked.flying && !terminal && !e.wait(&e.asked) {
		e.asked.flying = true
		e.ask(Action{Verb: LoadClaims})
	}
	return false
}
