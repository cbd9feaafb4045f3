package engine

import (
	"cmp"
	"fmt"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/readiness"
)

// decision is the result of comparing the desired with the observed object of a
// node. Exactly one of unchanged, wait, failure and apply is set.
type decision struct {
	// unchanged means that no write is needed.
	unchanged bool
	// unrecorded is set with unchanged if the inventory doesn't have this state
	// yet: another run is active.
	unrecorded bool
	// drift is set with unchanged if drift is kept. It is the request that would
	// correct it.
	drift *ApplyRequest
	// wait is the reason to wait before the object can be written.
	wait    string
	failure *Failure
	apply   *ApplyRequest
}

// decide compares the desired object of a node with its observation. It is a
// function of what was observed and recorded; it only adds to the record that an
// object was restored, see [Engine.restored].
func (e *Engine) decide(n *node, seen *observation) decision {
	want := &ApplyRequest{
		Object: n.desired.object, Generates: n.Generates, Unknown: n.desired.unknown,
		Manager: n.policy.manager, Ignore: n.policy.ignore,
	}
	if e.opts.Mode == ModePlan {
		want.Generates = nil // their paths are among the unknown parts
	}
	switch {
	case e.done(n, seen):
		return decision{unchanged: true}
	case seen.absent:
		return decision{apply: want}
	case seen.deleting:
		return decision{wait: readiness.DeletionMessage(seen.finalizers)}
	case n.policy.mode == v1alpha1.ApplyModeCreate:
		return decision{unchanged: true} // no matter which graph it belongs to
	}
	want.UID, want.Version = seen.uid, seen.version
	if !e.owns(n.key, seen) {
		if d, decided := e.restored(n, seen); decided && (d.wait != "" || d.failure != nil) {
			return d
		}
	}
	entry := e.ledger.entries[n.key]
	recorded := entry.UID == seen.uid
	asApplied := recorded && entry.Desired == n.desired.digest
	switch {
	// The object of the graph. Its labels may have been removed; then the recorded
	// UID identifies it.
	case e.owns(n.key, seen), !seen.owned && recorded:
		if asApplied && entry.Live == seen.live && seen.mine {
			return decision{unchanged: true}
		}
		if e.opts.Mode == ModeStatus && !asApplied && seen.mine && e.ledger.otherRunActive() && entry.Live != seen.live {
			return decision{unchanged: true, unrecorded: true}
		}
		want.Drift, want.Adopt = asApplied, n.progress.restored
		if want.Drift && e.opts.Drift != CorrectDrift {
			return decision{unchanged: true, drift: want}
		}
	// The object of another graph.
	case seen.owned && !seen.mine && !n.policy.listed && e.opts.HandsOver != nil && e.opts.HandsOver(n.key, seen.owner):
		return decision{wait: fmt.Sprintf("is being handed over by graph %s", seen.owner)}
	case seen.owned && !seen.mine && !n.policy.listed:
		return decision{failure: &Failure{
			Reason: ReasonOwnedElsewhere, Terminal: true,
			Message: fmt.Sprintf("belongs to graph %s: apply that graph without it, or %s", seen.owner, cmp.Or(e.opts.AdoptHint, "list it in spec.adopt.resources")),
		}}
	// An object that belongs to no graph, or is a labeled copy.
	case n.policy.mode != v1alpha1.ApplyModeAdopt && !n.policy.listed && !seen.selected:
		return decision{failure: &Failure{
			Reason: ReasonAdoptionRequired, Terminal: true,
			Message: "exists already and belongs to no graph: " + cmp.Or(e.opts.AdoptHint, "list it in spec.adopt.resources, or set applyPolicy.mode: Adopt"),
		}}
	default:
		want.Adopt = true
	}
	// Drift is corrected even if another manager owns the changed fields by now.
	want.Force = n.policy.force || e.opts.ForceConflicts || want.Drift
	want.HandOverReplicas = seen.ownsReplicas && !setsReplicas(n.desired.object)
	return decision{apply: want}
}

// setsReplicas reports whether an object sets spec.replicas.
func setsReplicas(object map[string]any) bool {
	spec, _ := object["spec"].(map[string]any)
	_, ok := spec["replicas"]
	return ok
}
