package controller

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/tools/events"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/controller/status"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/inventory"
)

// reporter reports what happens to the nodes of one run, as metrics and Events.
// Each failure and each drift is reported once, however often it is observed.
type reporter struct {
	events  events.EventRecorder
	metrics Recorder
	owner   inventory.Owner

	graph *v1alpha1.ResourceGraph
	// completed is the revision that was completed before the run, if any.
	completed string
	cause     status.Cause // of the run

	took map[string]time.Duration // by node: its apply, until it is reported
	// effects are the first effects on objects since the last entry of the history:
	// Created, Configured or Deleted.
	effects  map[inventory.Key]engine.Operation
	failures map[string]string // by node, "" for the graph: the last one that was reported
	drift    map[string]string // by node: the drift that was reported
	// common counts the nodes that failed for the same reason.
	common map[string]int
	// timedOut has the nodes whose timeout the metrics have counted. The message of such
	// a node may change while it isn't ready.
	timedOut map[string]bool
}

// maxFailureEvents is the number of nodes for which one run emits Events about
// failures with the same reason.
const maxFailureEvents = 10

// begin sets the graph of the run and why it began. Inventory is nil if the graph isn't
// executed.
func (r *reporter) begin(rg *v1alpha1.ResourceGraph, inv *inventory.Inventory, cause status.Cause) {
	r.cause = cause
	r.graph, r.failures, r.drift, r.common = rg, map[string]string{}, map[string]string{}, map[string]int{}
	r.effects, r.timedOut = map[inventory.Key]engine.Operation{}, map[string]bool{}
	if inv != nil && inv.Complete {
		r.completed = inv.Revision
	}
	// The status has the drift and the failures that earlier runs reported.
	for id, s := range rg.Status.NodeStates {
		r.drift[id] = s.Message
		if s.Phase == v1alpha1.NodeFailed && rg.Status.ObservedGeneration == rg.Generation {
			r.failures[id] = s.Message
		}
	}
}

// completedBefore reports whether a revision was completed before the run.
func (r *reporter) completedBefore(revision string) bool {
	return r.completed != "" && r.completed == revision
}

// applied notes how long the request took that applied a node's object.
func (r *reporter) applied(node string, took time.Duration) { r.took[node] = took }

// changes reports changes of nodes. Revision returns the revision that is executed.
func (r *reporter) changes(changes []engine.Status, revision func() string, now time.Time) {
	ns, name := r.owner.Namespace, r.owner.Name
	for i := range changes {
		s := &changes[i]
		if s.ID == "" { // the object left the graph
			if s.Phase == v1alpha1.NodeGone {
				r.affected(s)
			}
			switch unserved := s.Reason == engine.ReasonUnknownKind || s.Reason == engine.ReasonKindUnavailable; {
			case s.Phase == v1alpha1.NodeGone && unserved:
				r.emitWarning("Orphaned", "Delete", s, ": "+s.Message)
			case s.Phase == v1alpha1.NodeGone && s.Reason == engine.ReasonKept:
				r.emitNormal("Kept", "Delete", s, " was released instead of deleted: "+s.Message)
			case s.Phase == v1alpha1.NodeFailed && s.Reason == engine.ReasonKindUnavailable:
				r.kept(s)
			}
			continue
		}
		if took, ok := r.took[s.ID]; ok && s.Op != "" && s.Phase != v1alpha1.NodeApplying {
			delete(r.took, s.ID)
			r.affected(s)
			r.metrics.NodeApplied(ns, name, s.ID, s.Op, took)
			r.operation(s, revision)
		}
		if s.Phase == v1alpha1.NodeReady && s.ReadyAt.Equal(now) && !s.AppliedAt.IsZero() {
			r.metrics.NodeReady(ns, name, s.ID, s.ReadyAt.Sub(s.AppliedAt))
		}
		if text := status.DriftMessage(s); s.Drifted && r.drift[s.ID] != text {
			r.drift[s.ID] = text
			r.emitDrift("DriftDetected", s, " was changed by others and is left as it is (spec.driftPolicy: Report)"+status.TakenFields(s))
		}
		r.failure(s)
	}
}

// affected notes the effect of the run on an object. The first one counts: an object
// that was created and then corrected was created.
func (r *reporter) affected(s *engine.Status) {
	if _, noted := r.effects[s.Key]; noted {
		return
	}
	switch s.Op {
	case engine.Created, engine.Recreated:
		r.effects[s.Key] = engine.Created
	case engine.Configured, engine.Corrected, engine.Adopted:
		r.effects[s.Key] = engine.Configured
	case engine.Deleted:
		r.effects[s.Key] = engine.Deleted
	}
}

// takeEffects returns how many objects the run has created, updated and deleted since
// the last call. A run that fails and then completes has two entries in the history,
// and an object must not count in both.
func (r *reporter) takeEffects() (created, updated, deleted int) {
	n := map[engine.Operation]int{}
	for _, op := range r.effects {
		n[op]++
	}
	clear(r.effects)
	return n[engine.Created], n[engine.Configured], n[engine.Deleted]
}

// operation reports operations that the graph doesn't imply.
func (r *reporter) operation(s *engine.Status, revision func() string) {
	switch s.Op {
	case engine.Corrected:
		r.emitDrift("DriftCorrected", s, " was changed by others and has been corrected"+status.TakenFields(s))
	case engine.Adopted:
		r.emitNormal("Adopted", "Apply", s, " was adopted")
		r.metrics.AdoptionDone(r.owner.Namespace, r.owner.Name, r.adoptMode(), nil)
	case engine.Created:
		// If this revision was complete before, others deleted the object.
		if r.completedBefore(revision()) {
			r.emitDrift("DriftCorrected", s, " was deleted by others and has been recreated")
		}
	}
}

// failure reports the failure of a node if it is a new one.
func (r *reporter) failure(s *engine.Status) {
	if s.Phase != v1alpha1.NodeFailed {
		delete(r.failures, s.ID)
		delete(r.timedOut, s.ID)
		return
	}
	ns, name := r.owner.Namespace, r.owner.Name
	if s.Reason != engine.ReasonReadinessTimeout {
		r.metrics.NodeApplyFailed(ns, name, s.ID, s.Reason) // counts every attempt
	}
	by := s.ID
	if s.Shared {
		by = "" // one Event for the graph
	}
	if r.failures[by] == s.Message {
		return
	}
	r.failures[by] = s.Message
	if s.Shared {
		r.emitWarning("ApplyFailed", "Apply", nil, s.Message)
		return
	}
	switch s.Reason {
	case engine.ReasonOverBudget:
		// It is the graph that exceeds a limit: one Event is enough for its nodes.
		if r.failures[""] == "" {
			r.failures[""] = s.Message
			r.stalled(reasonOverBudget, s.Message)
		}
	case engine.ReasonReadinessTimeout:
		if !r.timedOut[s.ID] {
			r.timedOut[s.ID] = true
			r.metrics.ReadinessTimeout(ns, name, s.ID)
		}
		r.emitFailure("ReadinessTimeout", "Wait", s)
	case engine.ReasonAdoptionRequired, engine.ReasonOwnedElsewhere:
		r.metrics.AdoptionDone(ns, name, r.adoptMode(), errors.New(s.Message))
		r.emitFailure("AdoptionFailed", "Adopt", s)
	default:
		r.emitFailure("ApplyFailed", "Apply", s)
	}
}

// emitFailure emits an Event about the failure of a node. If many nodes fail for the
// same reason, an Event of the graph stands for the rest.
func (r *reporter) emitFailure(reason, action string, s *engine.Status) {
	r.common[s.Reason]++
	switch n := r.common[s.Reason]; {
	case n <= maxFailureEvents:
		r.emitWarning(reason, action, s, ": "+s.Message)
	case n == maxFailureEvents+1:
		r.emitWarning(reason, action, nil, fmt.Sprintf("more than %d nodes failed with %s; the status shows them", maxFailureEvents, s.Reason))
	}
}

// orphaned reports that the objects of a deleted graph aren't deleted.
func (r *reporter) orphaned(cause string, objects int) {
	r.emitWarning("Orphaned", "Delete", nil, cause+": orphaned "+source.Count(objects, "object"))
}

// stalled reports that the graph isn't executed.
func (r *reporter) stalled(reason, message string) {
	r.emitWarning(reason, "Check", nil, message)
}

// searched reports that the inventory of the graph was lost, and how many objects
// were found by their labels that the graph doesn't list any more. Unproven are objects
// with the labels that are left alone, and unsearched the API groups that weren't
// available.
func (r *reporter) searched(found int, unproven []inventory.Key, unsearched []engine.Unsearched) {
	text := "the inventory was lost; objects of the graph were searched by their labels: found " + source.Count(found, "object") +
		" that the graph doesn't list any more"
	if len(unproven) > 0 {
		text += fmt.Sprintf("; left alone %s with its labels that other field managers applied, such as %s",
			source.Count(len(unproven), "object"), unproven[0])
	}
	if note := status.Unsearched(unsearched); note != "" {
		text += "; " + note
	}
	r.emitWarning("InventoryLost", "Survey", nil, text)
}

// kept reports that an object that left the graph can't be removed, because its kind
// isn't available.
func (r *reporter) kept(s *engine.Status) {
	if text := s.Reason + s.Message; r.failures[s.Key.String()] != text {
		r.failures[s.Key.String()] = text
		r.emitWarning(engine.ReasonKindUnavailable, "Delete", s, " left the graph and stays in its inventory: "+s.Message)
	}
}

// adoptMode returns how the graph selects objects to adopt.
func (r *reporter) adoptMode() string {
	if a := r.graph.Spec.Adopt; a != nil && a.Mode != "" {
		return string(a.Mode)
	}
	return string(v1alpha1.AdoptExplicit)
}
