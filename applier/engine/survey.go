package engine

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/inventory"
)

// surveyed reports whether the objects of the graph and of its inventory were
// read, and requests the Survey if they weren't.
func (e *Engine) surveyed() bool {
	search := e.opts.Applied && e.ledger.lost
	if e.survey.done || !search && len(e.ledger.entries) == 0 && len(e.nodes.all) == 0 {
		return true
	}
	if !e.discovered() {
		return false
	}
	if e.opts.NeverApplied && e.ledger.lost {
		e.assumeAbsent()
		return true
	}
	if e.survey.inFlight || e.backingOff(&e.survey.retryState) {
		return false
	}
	e.survey.inFlight = true
	e.step.actions = append(e.step.actions, Action{Verb: Survey, Targets: e.surveyTargets(), Search: search})
	return false
}

// surveyTargets returns the objects of the nodes, then the others of the
// inventory, sorted by key.
func (e *Engine) surveyTargets() []Target {
	targets := make([]Target, 0, len(e.ledger.entries))
	for _, n := range e.nodes.all {
		if n.unscoped != nil {
			continue
		}
		applied := e.ledger.entries[n.key].UID != ""
		targets = append(targets, Target{n.key, n.version, !n.policy.external && applied, false, false})
	}
	for _, key := range slices.SortedFunc(maps.Keys(e.ledger.entries), inventory.Key.Compare) {
		if e.nodes.byKey[key] == nil {
			targets = append(targets, Target{key, e.ledger.entries[key].Version, true, true, false})
		}
	}
	return targets
}

// assumeAbsent replaces the Survey of a graph that was never applied. Objects that
// may exist nevertheless, because others make them, are read one by one.
func (e *Engine) assumeAbsent() {
	e.survey.done, e.ledger.lost = true, false
	for _, n := range e.nodes.all {
		mayAdopt := n.policy.listed || n.policy.mode == v1alpha1.ApplyModeAdopt || e.adoption.selector != nil
		if n.unscoped == nil && !n.policy.external && !mayAdopt && e.cache.objects[n.key] == nil {
			e.put(n.key, absentObservation("", e.step.now))
		}
	}
}

// finishSurvey receives the objects. Until the Survey succeeds, every node shows
// its failure.
func (e *Engine) finishSurvey(a Action, o Outcome) {
	if len(a.Groups) > 0 {
		e.finishSearch(o)
		return
	}
	e.survey.inFlight = false
	if o.Err == nil && e.ledger.lost && !a.Search {
		o.Err = o.Unlisted // only the list finds objects that the inventory lacks
	}
	if o.Err != nil {
		e.survey.fail(o.Err, e.step.now, e.opts.Backoff)
		for _, n := range e.nodes.all {
			n.failBecause(&e.survey.retryState, "the objects can't be read: ")
		}
		if e.survey.failure.Terminal {
			e.fatal = o.Err
		}
		return
	}
	e.survey.succeed()
	e.survey.done = true
	for _, t := range a.Targets {
		// Watches may have observed an object already. Unreadable objects stay
		// unknown and are read one by one when they are needed.
		_, unreadable := o.Unreadable[t.Key]
		if !unreadable && e.cache.objects[t.Key] == nil {
			e.put(t.Key, absentObservation("", e.step.now))
		}
		if !unreadable {
			e.opts.Damper.readSucceeded(t.Key)
		}
	}
	for _, obj := range o.Objects {
		if e.ledger.lost {
			e.recover(obj)
		} else {
			e.observe(obj)
		}
		e.vouch(e.keyOfObject(obj))
	}
	e.ledger.lost = false
	if a.Search {
		e.searched(o.Unsearched)
	}
}

// recover observes an object with the graph's labels, which becomes part of the
// inventory if it isn't and the graph applied it.
func (e *Engine) recover(obj *unstructured.Unstructured) {
	key := e.keyOfObject(obj)
	if !e.tracks(key) {
		e.recoverEntry(key, obj)
	}
	if !e.tracks(key) && e.owner.Owns(obj.GetLabels()) && len(obj.GetOwnerReferences()) == 0 {
		e.survey.search.unproven = append(e.survey.search.unproven, key)
	}
	e.observe(obj)
}
