package engine

import (
	"time"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/inventory"
)

// leaver is an object that left the graph.
type leaver struct {
	failureState              // of removing
	look         failureState // of reading
	entry        inventory.Entry
	deleted      bool
	released     bool
	gone         bool
	polled       time.Time
	status       Status
}

func (l *leaver) asked(v Verb) {
	l.succeeded()
	switch v {
	case Delete:
		l.deleted = true
		l.status.Op = Deleted
	case Release:
		l.released = true
	}
}

// prune removes what left the graph, level by level: Completed when all of it
// is gone, Stuck when what is left of a level can't be removed.
func (e *Engine) prune() Phase {
	if !e.opts.Prune {
		return Completed
	}
	if e.leaving == nil {
		e.startPrune()
	}
	phase := Completed
	var gone []inventory.Key
	for _, level := range e.leaving {
		left, stuck, asked := 0, 0, 0
		for _, l := range level {
			e.visitLeaver(l)
			switch {
			case l.gone:
				gone = append(gone, l.entry.Key)
				continue
			case !l.flying && l.failure != nil && l.failure.Terminal:
				stuck++
			case !l.flying && l.status.Phase == v1alpha1.NodeDeleting:
				asked++
			}
			left++
		}
		if left > 0 {
			if phase = Pruning; left == stuck {
				phase = Stuck
			}
			if e.opts.Hurry && left == asked {
				continue
			}
			break
		}
	}
	// What is gone is so in the inventory too; what isn't stays.
	e.keep(gone)
	return phase
}

// startPrune finds out what left, now that it is known which objects are which.
func (e *Engine) startPrune() {
	e.leaving = [][]*leaver{}
	for _, level := range inventory.Leaving(e.Inventory().Entries, e.wanted) {
		var leavers []*leaver
		for _, entry := range level {
			leavers = append(leavers, &leaver{entry: entry, status: Status{
				Key: entry.Key, Version: entry.Version, Wave: entry.Wave, Phase: v1alpha1.NodePending,
			}})
		}
		e.leaving = append(e.leaving, leavers)
	}
}

// keep is what the inventory holds when something is gone.
func (e *Engine) keep(gone []inventory.Key) {
	kept := inventory.Survivors(e.Inventory().Entries, e.wanted, gone)
	e.entries = make(map[inventory.Key]inventory.Entry, len(kept))
	for _, entry := range kept {
		e.entries[entry.Key] = entry
	}
}

func (e *Engine) leaver(key inventory.Key) *leaver {
	for _, level := range e.leaving {
		for _, l := range level {
			if l.entry.Key == key {
				return l
			}
		}
	}
	return nil
}

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
	if l.entry.Orphan || e.opts.Orphan {
		return fateRelease, nil
	}
	return fateDelete, nil
}

func (e *Engine) visitLeaver(l *leaver) {
	if l.gone || l.flying {
		return
	}
	if l.released {
		l.gone = true
		l.status.Phase, l.status.Op, l.status.Message = v1alpha1.NodeGone, Released, ""
		return
	}
	seen := e.world[l.entry.Key]
	fate, to := e.decideLeaver(l, seen)
	l.status.Message, l.status.Reason = "", ""
	switch fate {
	case fateRead:
		e.readLeaver(l)
		return
	case fateGone, fateForeign:
		l.gone = true
		l.status.Phase = v1alpha1.NodeGone
		if fate == fateForeign {
			l.status.Op, l.status.Message = Released, "is no longer the graph's"
		} else if l.status.Op == "" {
			l.status.Op = Deleted
		}
		return
	case fateWait:
		l.status.Phase, l.status.Message = v1alpha1.NodeDeleting, deletionText(seen)
		l.status.Op = Deleted
		if e.opts.Preview {
			l.gone = true
			return
		}
		e.poll(l.entry.Key, l.entry.Version, "", l.status.Phase, seen, &l.look, &l.polled)
		return
	}
	if l.failure != nil && l.failure.Terminal || e.wait(&l.failureState) {
		l.status.Phase, l.status.Message, l.status.Reason = v1alpha1.NodeFailed, l.failure.Message, l.failure.Reason
		return
	}
	key := Action{Key: l.entry.Key, Version: l.entry.Version}
	switch fate {
	case fateDelete:
		key.Verb, key.UID = Delete, seen.uid
	case fateRelease, fateHandOver:
		key.Verb, key.UID, key.To = Release, seen.uid, to
	}
	// Before anything is removed: does another graph list it?
	if e.claims == nil && !e.askOthers() {
		return
	}
	if e.write(key) {
		l.flying = true
		l.status.Phase = v1alpha1.NodeDeleting
	}
}

func (e *Engine) readLeaver(l *leaver) {
	if l.look.flying {
		return
	}
	if e.wait(&l.look) {
		l.status.Phase, l.status.Message, l.status.Reason = v1alpha1.NodeFailed, l.look.failure.Message, l.look.failure.Reason
		return
	}
	l.look.flying = true
	e.actions = append(e.actions, Action{Verb: Read, Key: l.entry.Key, Version: l.entry.Version})
}

// askOthers asks once which objects other graphs list.
func (e *Engine) askOthers() bool {
	if !e.asked.flying && !e.wait(&e.asked) {
		e.asked.flying = true
		e.actions = append(e.actions, Action{Verb: Others})
	}
	return false
}
