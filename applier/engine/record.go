package engine

import (
	"maps"
	"slices"

	"github.com/pequod-io/pequod/inventory"
)

// Inventory returns a copy of what the graph owns, as far as the engine knows.
func (e *Engine) Inventory() *inventory.Inventory {
	inv := *e.ledger.saved
	inv.Owner, inv.Revision, inv.Complete, inv.Unsearched = e.owner, e.revision, e.ledger.complete, e.ledger.unsearched
	inv.Entries = slices.AppendSeq(slices.Grow([]inventory.Entry(nil), len(e.ledger.entries)), maps.Values(e.ledger.entries))
	inventory.Sort(inv.Entries)
	return &inv
}

// UnsavedInventory returns the inventory and reports whether it differs from the
// stored one. A driver that stops before the engine is done stores it.
func (e *Engine) UnsavedInventory() (*inventory.Inventory, bool) {
	inv := e.Inventory()
	return inv, e.ledger.intentSaved && !inventory.Equal(inv, e.ledger.saved)
}

// Rebase replaces the stored inventory by one that another run of the same
// revision stored in the meantime. Entries of objects that this engine applied
// are kept.
func (e *Engine) Rebase(stored *inventory.Inventory) {
	l := &e.ledger
	l.saved = stored
	l.record.succeed()
	for _, entry := range inventory.Union(stored.Entries, l.desired) {
		if l.entries[entry.Key].UID == "" {
			l.entries[entry.Key] = entry
		}
	}
	l.unmarked = true
	for _, n := range e.nodes.all {
		n.schedule.stale = true
	}
}

// RecordIntent makes the next step request the Record of an implied intent. It
// reports whether it does so, for the first time.
func (e *Engine) RecordIntent() bool {
	l := &e.ledger
	first := l.implied && !l.due
	l.due = l.implied
	return first
}

// recordNext requests a Record if one is due: of the intent, before the first
// write, and of the results, when nothing is left to do. It reports whether
// everything that has to be recorded by now is recorded.
func (e *Engine) recordNext(phase Phase) bool {
	l := &e.ledger
	final := phase == Completed || phase == Stuck && e.inFlight == 0 && len(e.step.actions) == 0
	if !e.step.writeDeferred && !final && !l.due && !l.finished || e.opts.Mode == ModeStatus {
		return true
	}
	inv := e.Inventory()
	if final && l.saved.Revision == "" && len(l.entries) == 0 {
		return true // the graph never owned anything
	}
	if l.record.inFlight {
		return false
	}
	if final && inventory.Equal(inv, l.saved) {
		return true
	}
	if e.backingOff(&l.record) {
		return false
	}
	l.record.inFlight, l.finished = true, false
	e.step.actions = append(e.step.actions, Action{Verb: Record, Inventory: inv})
	return false
}

// finishRecord receives the outcome of a Record. A terminal failure stops the
// engine, because nothing may be written without a recorded intent.
func (e *Engine) finishRecord(o Outcome) {
	l := &e.ledger
	l.record.inFlight = false
	if o.Err != nil {
		l.finished = true // it may have been the reason to record
		l.record.fail(o.Err, e.step.now, e.opts.Backoff)
		if l.record.failure.Terminal {
			e.fatal = o.Err
		}
		return
	}
	l.record.succeed()
	l.saved, l.implied, l.due = o.Saved, false, false
	l.intentSaved = l.intends(o.Saved)
}
