package applier

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/source"
)

// told adds to a state what the applier in the cluster says, which no look at the
// objects tells: what it was refused, and why it does nothing.
func (s *State) told(rg *v1alpha1.ResourceGraph) {
	current := rg.Status.ObservedGeneration == rg.Generation
	for i := range s.Nodes {
		n := &s.Nodes[i]
		said, ok := rg.Status.NodeStates[n.ID]
		if current && ok && n.Phase == v1alpha1.NodePending && said.Phase == v1alpha1.NodeFailed {
			n.Phase, n.Message = v1alpha1.NodeFailed, said.Message
		}
	}
	s.Cause = s.cause(rg, current)
}

func (s *State) cause(rg *v1alpha1.ResourceGraph, current bool) string {
	message := func(condition string) string {
		if c := meta.FindStatusCondition(rg.Status.Conditions, condition); c != nil {
			return source.OneLine(c.Message, v1alpha1.MaxMessage)
		}
		return ""
	}
	stalled := meta.IsStatusConditionTrue(rg.Status.Conditions, v1alpha1.ConditionStalled)
	failed := slices.ContainsFunc(s.Nodes, func(n NodeState) bool { return n.Phase == v1alpha1.NodeFailed })
	switch {
	case rg.DeletionTimestamp != nil && current && message(v1alpha1.ConditionReady) != "":
		return "is being deleted: " + message(v1alpha1.ConditionReady)
	case rg.DeletionTimestamp != nil:
		return "is being deleted"
	case rg.Spec.Suspend:
		return "is suspended"
	case rg.Labels[v1alpha1.LabelPaused] == "true":
		return "is paused"
	case rg.Status.ObservedGeneration <= 0: // the definition's default is -1
		return "no applier has seen it yet"
	case !current:
		return "the applier hasn't seen this revision yet"
	case stalled && !failed:
		return message(v1alpha1.ConditionStalled)
	}
	return ""
}
