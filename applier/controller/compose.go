package controller

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/inventory"
	"github.com/pequod-io/pequod/inventory/stored"
)

// compose is the status that tells the truth about a run; inv is nil where the
// inventory stays as it is stored.
func (r *run) compose(phase engine.Phase, inv *inventory.Inventory, now time.Time) *v1alpha1.ResourceGraphStatus {
	next := r.status.DeepCopy()
	r.observed(next)
	if inv != nil {
		next.Inventory = stored.View(inv)
	}
	statuses, without := r.engine.Statuses(), ""
	if r.goal.verb == execute {
		next.NodeStates = r.nodeStates(statuses)
		if phase == engine.Completed {
			next.Outputs, without = r.outputs()
		}
	}
	r.history(next)
	reason, message := summary(statuses)
	switch {
	case r.goal.verb != execute && phase == engine.Stuck:
		next.Phase = v1alpha1.GraphFailed
		r.conditions(next, metav1.ConditionFalse, "DeletionFailed", message, v1alpha1.ConditionStalled)
	case r.goal.verb != execute:
		next.Phase = v1alpha1.GraphExecuting
		r.conditions(next, metav1.ConditionFalse, "Deleting", message, v1alpha1.ConditionReconciling)
	case phase == engine.Completed:
		next.Phase = v1alpha1.GraphCompleted
		text := objects(countNodes(statuses)) + " ready"
		if without != "" {
			text += "; " + without
		}
		r.conditions(next, metav1.ConditionTrue, "Completed", text, "")
	case phase == engine.Stuck:
		next.Phase = v1alpha1.GraphFailed
		r.conditions(next, metav1.ConditionFalse, cmp.Or(reason, "Failed"), message, v1alpha1.ConditionStalled)
	case reason != "":
		next.Phase = v1alpha1.GraphExecuting
		r.conditions(next, metav1.ConditionFalse, reason, message, v1alpha1.ConditionReconciling)
	default:
		next.Phase = v1alpha1.GraphExecuting
		r.conditions(next, metav1.ConditionUnknown, "Progressing", message, v1alpha1.ConditionReconciling)
	}
	return next
}

func countNodes(statuses []engine.Status) int {
	return len(slices.DeleteFunc(slices.Clone(statuses), func(s engine.Status) bool { return s.ID == "" }))
}

func objects(n int) string {
	if n == 1 {
		return "1 object is"
	}
	return fmt.Sprintf("%d objects are", n)
}

func (r *run) observed(next *v1alpha1.ResourceGraphStatus) {
	next.ObservedGeneration = r.graph.Generation
	next.ReconcileRequestedAt = r.head.requested
	if len(next.ReconcileRequestedAt) > maxRequested {
		next.ReconcileRequestedAt = source.OneLine(next.ReconcileRequestedAt, maxRequested)
	}
}

// conditions sets Ready, and one of the two others or neither.
func (r *run) conditions(next *v1alpha1.ResourceGraphStatus, ready metav1.ConditionStatus, reason, message, abnormal string) {
	message = source.OneLine(message, v1alpha1.MaxMessage)
	set := func(kind string, status metav1.ConditionStatus) {
		meta.SetStatusCondition(&next.Conditions, metav1.Condition{
			Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: r.graph.Generation,
		})
	}
	set(v1alpha1.ConditionReady, ready)
	for _, kind := range []string{v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled} {
		if kind == abnormal {
			set(kind, metav1.ConditionTrue)
		} else {
			meta.RemoveStatusCondition(&next.Conditions, kind)
		}
	}
}

// nodeStates are the states of the nodes; what an earlier run knew of one that
// this one only looked at stays.
func (r *run) nodeStates(statuses []engine.Status) map[string]v1alpha1.NodeState {
	nodes := slices.DeleteFunc(slices.Clone(statuses), func(s engine.Status) bool { return s.ID == "" })
	if len(nodes) > v1alpha1.MaxNodeStates {
		slices.SortStableFunc(nodes, func(a, b engine.Status) int {
			return cmp.Compare(b2i(a.Phase == v1alpha1.NodeReady), b2i(b.Phase == v1alpha1.NodeReady))
		})
		nodes = nodes[:v1alpha1.MaxNodeStates]
	}
	messages := make([]string, len(nodes))
	for i := range nodes {
		messages[i] = cmp.Or(nodes[i].Message, leftSo(&nodes[i]))
	}
	limit := messageLimit(messages)
	states := make(map[string]v1alpha1.NodeState, len(nodes))
	for i, s := range nodes {
		old := r.status.NodeStates[s.ID]
		state := v1alpha1.NodeState{
			Phase: s.Phase, Message: source.OneLine(messages[i], limit),
			AppliedAt: at(s.AppliedAt), ReadyAt: at(s.ReadyAt), Adopted: old.Adopted || s.Op == engine.Adopted,
		}
		if state.AppliedAt == nil {
			state.AppliedAt = old.AppliedAt
			if s.Phase == old.Phase && old.ReadyAt != nil {
				state.ReadyAt = old.ReadyAt
			}
		}
		if s.Phase != v1alpha1.NodeReady {
			state.ReadyAt = nil
		}
		states[s.ID] = state
	}
	return states
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func at(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return &metav1.Time{Time: t.Truncate(time.Second)}
}

// history adds how the run ended, if that is another revision or another end
// than the last one.
func (r *run) history(next *v1alpha1.ResourceGraphStatus) {
	if r.revision == nil {
		return
	}
	if len(next.History) > 0 {
		last := next.History[0]
		if last.Revision == r.revision.Revision && last.Hash == r.revision.Hash && last.Result == r.revision.Result {
			return
		}
	}
	next.History = append([]v1alpha1.Revision{*r.revision}, next.History...)
	next.History = next.History[:min(len(next.History), v1alpha1.MaxHistory)]
}

// executed says whether the last execution was of the graph as it is now, and
// came to its end.
func (r *run) executed() bool {
	for _, old := range r.status.History {
		hash, err := graph.RenderHash(r.graph.Spec.Graph)
		return err == nil && old.Result == v1alpha1.GraphCompleted && r.status.Inventory != nil && r.status.Inventory.Complete && old.Hash == hash
	}
	return false
}

// summary says in a line what a graph waits for, and the reason of the first
// failure.
func summary(statuses []engine.Status) (reason, message string) {
	ready, nodes := 0, 0
	var failed, waiting []string
	for _, s := range statuses {
		name := s.ID
		if name == "" {
			if s.Phase == v1alpha1.NodeGone {
				continue
			}
			name = s.Key.String()
		} else {
			nodes++
		}
		text := name + ": " + cmp.Or(s.Message, strings.ToLower(string(s.Phase)))
		switch s.Phase {
		case v1alpha1.NodeReady:
			ready++
		case v1alpha1.NodeFailed:
			reason = cmp.Or(reason, s.Reason)
			failed = append(failed, text)
		case v1alpha1.NodeProgressing, v1alpha1.NodeWaiting, v1alpha1.NodeDeleting:
			waiting = append(waiting, text)
		}
	}
	parts := []string{fmt.Sprintf("%d of %d ready", ready, nodes)}
	if nodes == 0 {
		parts = nil
	}
	if told := listed(append(failed, waiting...)); told != "" {
		parts = append(parts, told)
	}
	return reason, strings.Join(parts, "; ")
}
