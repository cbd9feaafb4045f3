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
	gone         bool
	polled       time.Time
	status       Status
	shown        Status // as the last step reported it
}

// prune removes what left the graph, level by level: Completed when all of it
// is gone, Stuck when what is left of a level can't be removed.
func (e *Engine) prune() Phase {
	if !e.opts.Prune {
		return Completed
	}
	if !e.pruning {
		e.startPrune()
	}
	phase := Completed
	for i := e.level; i < len(e.leaving); i++ {
		left, stuck, asked := 0, 0, 0
		for _, l := range e.leaving[i] {
			e.visitLeaver(l)
			switch {
			case l.gone:
				continue
			case l.status.hopeless():
				stuck++
			case !l.flying && l.status.Phase == v1alpha1.NodeDeleting:
				asked++
			}
			left++
		}
		switch {
		case left == 0:
			if i == e.level {
				e.level++
			}
			continue
		case left == stuck:
			phase = Stuck
		default:
			phase = Pruning
		}
		if !e.opts.NoWait || asked < left {
			break
		}
	}
	return phase
}

// startPrune finds out what left, now that it is known which objects are which.
func (e *Engine) startPrune() {
	kept := inventory.Survivors(e.Inventory().Entries, e.wanted, nil)
	e.entries = make(map[inventory.Key]inventory.Entry, len(kept))
	for _, entry := range kept {
		e.entries[entry.Key] = entry
	}
	e.findLeaving()
	e.pruning = true
}

// findLeaving makes the levels of what leaves; what is known of it stays.
func (e *Engine) findLeaving() {
	known, gone := e.leavers, []*leaver{}
	for _, level := range e.leaving {
		for _, l := range level {
			if l.gone {
				gone = append(gone, l)
			}
		}
	}
	e.leaving, e.leavers = [][]*leaver{}, map[inventory.Key]*leaver{}
	if len(gone) > 0 {
		e.leaving = append(e.leaving, gone)
	}
	for _, level := range inventory.Leaving(e.Inventory().Entries, e.wanted) {
		var leavers []*leaver
		for _, entry := range level {
			l := known[entry.Key]
			if l == nil {
				l = &leaver{status: Status{Key: entry.Key, Version: entry.Version, Wave: entry.Wave, Phase: v1alpha1.NodePending}}
			}
			l.entry = entry
			leavers = append(leavers, l)
			e.leavers[entry.Key] = l
		}
		e.leaving = append(e.leaving, leavers)
	}
}

// handOver gives other graphs what they list, before everything of this one is
// ready: two graphs that swap objects would wait for each other without end.
func (e *Engine) handOver() {
	if !e.opts.Prune || e.handedOver {
		return
	}
	if e.leaving == nil {
		e.findLeaving()
	}
	done := true
	for _, level := range e.leaving {
		for _, l := range level {
			seen := e.world[l.entry.Key]
			if l.gone || seen == nil || seen.absent || !e.ours(l.entry.Key, seen) {
				continue
			}
			if e.claims == nil {
				e.claimsKnown()
				return
			}
			if fate, _ := e.decideLeaver(l, seen); fate == fateHandOver {
				e.visitLeaver(l)
				done = false
			}
		}
	}
	e.handedOver = done
}
