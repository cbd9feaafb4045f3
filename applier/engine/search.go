package engine

import (
	"slices"
	"time"

	"github.com/pequod-io/pequod/inventory"
)

// A graph whose inventory was lost finds the objects that it doesn't list any more by
// their labels, in all API groups. A group that isn't available must neither stop the
// graph, because its own objects may be what makes the group available, nor be left
// out: its objects would be orphaned. So the inventory records which groups are still
// to be searched, and a graph isn't deleted before all of them are.

// searchInterval is the time between two searches in groups that aren't available.
const searchInterval = 5 * time.Minute

// scheduleSearch schedules the next search. A deletion waits for it, so it searches
// sooner at first: the group may have been unavailable for a moment only.
func (e *Engine) scheduleSearch() {
	s, wait := &e.survey.search, searchInterval
	if s.tries++; e.opts.Mode == ModeDelete {
		wait = min(wait, e.opts.Backoff.After(s.tries))
	}
	s.retryAt = e.step.now.Add(wait)
}

// searchAgain requests a search in the groups that earlier ones couldn't read.
func (e *Engine) searchAgain() {
	s := &e.survey.search
	if len(e.ledger.unsearched) == 0 || s.inFlight || e.opts.Mode == ModeStatus || e.opts.Mode == ModePlan {
		return
	}
	if e.step.now.Before(s.retryAt) {
		e.wakeAt(s.retryAt)
		return
	}
	s.inFlight = true
	e.step.actions = append(e.step.actions, Action{Verb: Survey, Search: true, Groups: e.ledger.unsearched})
}

// finishSearch receives the outcome of a search that [Engine.searchAgain] requested.
func (e *Engine) finishSearch(o Outcome) {
	e.survey.search.inFlight = false
	if o.Err != nil {
		e.scheduleSearch()
		return
	}
	for _, obj := range o.Objects {
		e.recover(obj)
	}
	e.searched(o.Unsearched)
	// What left the graph is determined again.
	e.findRemovals()
	e.removals.handedOver = false
}

// searched records which groups are still to be searched.
func (e *Engine) searched(missed []Unsearched) {
	e.survey.search.missed = missed
	e.scheduleSearch()
	e.ledger.unsearched = nil
	for _, u := range missed {
		e.ledger.unsearched = append(e.ledger.unsearched, u.Group)
	}
	slices.Sort(e.ledger.unsearched)
}

// searching reports whether groups are still to be searched before the graph may be
// deleted. A graph whose objects are orphaned needs no search.
func (e *Engine) searching() bool {
	return e.opts.Mode == ModeDelete && !e.opts.Orphan && len(e.ledger.unsearched) > 0
}

// Unproven returns the objects that a search found and that aren't removed, because
// neither the default field manager nor one of the graph set their labels. Users and
// controllers copy labels.
func (e *Engine) Unproven() []inventory.Key { return e.survey.search.unproven }

// Unsearched returns the API groups in which objects that left the graph are still to
// be searched.
func (e *Engine) Unsearched() []Unsearched {
	if len(e.survey.search.missed) == len(e.ledger.unsearched) {
		return e.survey.search.missed
	}
	var all []Unsearched
	for _, group := range e.ledger.unsearched {
		all = append(all, Unsearched{Group: group})
	}
	return all
}
