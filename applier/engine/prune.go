package engine

import (
	"time"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/inventory"
)

// prune removes the objects that left the graph, level by level. It returns
// Completed when all are gone, Stuck when the rest of a level can't be removed,
// and Pruning otherwise.
func (e *Engine) prune() Phase {
	if !e.opts.Prune {
		return Completed
	}
	all := &e.removals
	if !all.pruning {
		e.startPrune()
	}
	phase := Completed
	all.held, all.nextPrune = 0, time.Time{}
	for i := all.level; i < len(all.levels); i++ {
		remaining, stuck, deleting, held := e.removeLevel(all.levels[i], all.held > 0)
		all.held += held
		switch {
		case remaining == 0:
			if i == all.level {
				all.level++
			}
			continue
		case remaining == held:
			continue // objects of the next levels can only be handed over
		case remaining == stuck+held:
			if phase == Completed {
				phase = Stuck
			}
		default:
			phase = Pruning
		}
		// The next level waits until this one is gone, or, with NoWait, until its
		// deletion was requested.
		if all.held == 0 && (!e.opts.NoWait || deleting < remaining) {
			break
		}
	}
	return phase
}

// removeLevel continues the removal of the objects of a level. It returns how many
// remain, and how many of these failed for good, are being deleted, and are held.
func (e *Engine) removeLevel(level []*removal, behind bool) (remaining, stuck, deleting, held int) {
	for _, r := range level {
		e.remove(r, behind)
		switch {
		case r.gone:
			continue
		case r.held:
			held++
		case r.status.failedForGood():
			stuck++
		case !r.write.inFlight && r.status.Phase == v1alpha1.NodeDeleting:
			deleting++
		}
		remaining++
	}
	return remaining, stuck, deleting, held
}

// startPrune computes what left the graph. It needs the UIDs of all applied
// objects: an object may be the same under another API group.
func (e *Engine) startPrune() {
	kept := inventory.Survivors(e.Inventory().Entries, e.ledger.desired, nil)
	e.ledger.entries = make(map[inventory.Key]inventory.Entry, len(kept))
	for _, entry := range kept {
		e.ledger.entries[entry.Key] = entry
	}
	e.findRemovals()
	e.removals.pruning = true
}

// findRemovals sets the levels of removals. The state of removals that exist
// already is kept; those that are done form the first level.
func (e *Engine) findRemovals() {
	all := &e.removals
	known := all.byKey
	var gone []*removal
	for _, level := range all.levels {
		for _, r := range level {
			if r.gone {
				gone = append(gone, r)
			}
		}
	}
	all.levels, all.byKey, all.level = [][]*removal{}, map[inventory.Key]*removal{}, 0
	if len(gone) > 0 {
		all.levels = append(all.levels, gone)
	}
	for _, entries := range e.ledger.left(e.Inventory().Entries) {
		var level []*removal
		for _, entry := range entries {
			r := known[entry.Key]
			if r == nil {
				r = newRemoval(entry)
			}
			r.entry = entry
			level = append(level, r)
			all.byKey[entry.Key] = r
		}
		all.levels = append(all.levels, level)
	}
}

// handOver hands objects over to the graphs that list them, before the nodes of
// this graph are ready. Otherwise two graphs that exchange objects would wait for
// each other forever.
func (e *Engine) handOver() {
	all := &e.removals
	if !e.opts.Prune || all.handedOver {
		return
	}
	if all.levels == nil {
		e.findRemovals()
	}
	done := true
	for _, level := range all.levels {
		for _, r := range level {
			seen := e.cache.objects[r.entry.Key]
			if r.gone || seen == nil || seen.absent || !e.owns(r.entry.Key, seen) {
				continue
			}
			if all.claims.value == nil {
				e.claimsLoaded() // requests them
				return
			}
			if decision, _ := e.decideRemoval(r, seen); decision == removeHandOver {
				e.remove(r, true)
				done = false
			}
		}
	}
	all.handedOver = done
}
