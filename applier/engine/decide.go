package engine

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/readiness"
)

// decision is what is to be done about one object: exactly one field is set,
// but that an object may be left as it is although it drifted, and would be
// applied so.
type decision struct {
	unchanged bool
	// unrecorded says of an unchanged object that it isn't recorded so.
	unrecorded bool
	drift      *ApplyRequest
	wait       string
	failure    *Failure
	apply      *ApplyRequest
}

// decide compares an object with what is wanted. It looks at nothing but what
// was observed and recorded.
func (e *Engine) decide(n *node, seen *observed) decision {
	want := &ApplyRequest{
		Object: n.want.object, Generates: n.Generates, Unknown: n.want.unknown, Manager: n.manager, Ignore: n.ignore,
	}
	if e.opts.Mode == ModePlan {
		want.Generates = nil // they are among the unknown
	}
	switch {
	case seen.absent:
		return decision{apply: want}
	case seen.deleting:
		return decision{wait: deletionText(seen)}
	case n.mode == v1alpha1.ApplyModeCreate:
		return decision{unchanged: true} // whose ever it is
	}
	want.UID, want.Version = seen.uid, seen.version
	entry := e.entries[n.key]
	known := entry.UID == seen.uid
	asApplied := known && entry.Desired == n.want.digest
	switch {
	case e.ours(n.key, seen), !seen.owned && known:
		if asApplied && entry.Live == seen.live && seen.mine {
			return decision{unchanged: true}
		}
		if e.opts.Mode == ModeStatus && !asApplied && seen.mine && e.underWay() && entry.Live != seen.live {
			return decision{unchanged: true, unrecorded: true}
		}
		want.Drift = asApplied
		if want.Drift && e.opts.Drift != CorrectDrift {
			return decision{unchanged: true, drift: want}
		}
	case seen.owned && !seen.mine && !n.listed && e.opts.HandsOver != nil && e.opts.HandsOver(n.key, seen.owner):
		return decision{wait: fmt.Sprintf("is handed over by graph %s", seen.owner)}
	case seen.owned && !seen.mine && !n.listed:
		return decision{failure: &Failure{
			Reason: ReasonOwnedElsewhere, Terminal: true,
			Message: fmt.Sprintf("belongs to graph %s: apply that graph without it, or list it in spec.adopt", seen.owner),
		}}
	case n.mode != v1alpha1.ApplyModeAdopt && !n.listed && !seen.matches:
		return decision{failure: &Failure{
			Reason: ReasonAdoptionRequired, Terminal: true,
			Message: "exists already and belongs to no graph: list it in spec.adopt, or set applyPolicy.mode: Adopt",
		}}
	default:
		want.Adopt = true
	}
	want.Force = n.force || e.opts.ForceConflicts || want.Drift
	want.HandOverReplicas = seen.replicas && !wantsReplicas(n.want.object)
	return decision{apply: want}
}

// underWay says that somebody else executes the graph, or began to: the intent is
// recorded, and what came of it isn't. What changed since is taken for their work.
func (e *Engine) underWay() bool { return e.intent && !e.saved.Complete }

// mirrored says whether an object is one that is only watched.
func (e *Engine) mirrored(n *node, seen *observed) bool {
	return e.mirror && (n.listed || !seen.absent && seen.matches && !seen.mine)
}

func wantsReplicas(object map[string]any) bool {
	spec, _ := object["spec"].(map[string]any)
	_, ok := spec["replicas"]
	return ok
}

// apply asks for an object to be written, unless a try has failed and it isn't
// time for the next.
func (e *Engine) apply(n *node, a *ApplyRequest) {
	if e.opts.Mode == ModeStatus {
		e.differs(n, a)
		return
	}
	if s := &n.state; s.failure != nil {
		if s.digest != n.want.digest || s.failure.Terminal && s.uid != a.UID {
			s.succeeded() // something else is wanted now, or it is another object
		} else if s.failure.Immutable && n.recreate && a.UID != "" {
			e.replace(n)
			return
		} else if s.failure.Terminal || e.wait(&s.failureState) {
			e.fail(n, s.failure)
			return
		}
	}
	if a.Drift && !e.mayCorrect(n) {
		e.waitFor(n, fmt.Sprintf("was changed by others %d times; the next correction is at %s",
			n.state.corrections, n.state.correctable.Format(time.TimeOnly)))
		return
	}
	e.set(n, v1alpha1.NodePending, "")
	if !e.write(Action{Verb: Apply, Key: n.key, Version: n.version, Node: n.ID, Apply: a}) {
		if e.record.failure != nil {
			e.failOf(n, &e.record, "the inventory can't be written: ")
		}
		return
	}
	if a.Drift {
		n.state.corrections++
		n.state.corrected = e.now
		n.state.correctable = e.now.Add(e.opts.Backoff.After(n.state.corrections))
	}
	n.state.digest, n.state.uid = n.want.digest, a.UID
	n.state.flying = true
	e.set(n, v1alpha1.NodeApplying, "")
}

// differs shows a node that would be written.
func (e *Engine) differs(n *node, a *ApplyRequest) {
	seen := e.world[n.key]
	message := "differs from the graph"
	switch {
	case seen.absent:
		message = "isn't applied"
	case a.Adopt:
		message = "isn't the graph's yet"
	case a.Drift:
		message = "was changed by others since it was applied"
	}
	if !seen.absent && seen.verdict.State != readiness.Ready {
		message += "; " + seen.verdict.Message
	}
	e.set(n, v1alpha1.NodePending, message)
}

// replace deletes an object that can't be changed, to make it anew when it is gone.
func (e *Engine) replace(n *node) {
	seen := e.world[n.key]
	e.set(n, v1alpha1.NodeApplying, "deleted to be made anew: "+n.state.failure.Message)
	if e.write(Action{Verb: Delete, Key: n.key, Version: n.version, Node: n.ID, UID: seen.uid, ResourceVersion: seen.version}) {
		n.state.flying, n.state.recreating = true, true
	}
}

// calm is how long nobody may have changed an object for its corrections to
// count as far apart.
const calm = 10 * time.Minute

// mayCorrect keeps two writers who disagree from writing without end: the first
// correction is made at once, each further one waits longer.
func (e *Engine) mayCorrect(n *node) bool {
	if e.now.Sub(n.state.corrected) > calm {
		n.state.corrections = 0
	}
	if n.state.corrections == 0 {
		return true
	}
	if e.now.Before(n.state.correctable) {
		e.wakeAt(n.state.correctable)
		return false
	}
	return true
}

var noTime time.Time

func asObject(object map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: object}
}
