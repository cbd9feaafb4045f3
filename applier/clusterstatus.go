package applier

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/inventory"
)

// addClusterStatus adds the knowledge of the applier in the cluster to a state, as
// its ResourceGraph reports it: failed requests, and why the graph isn't executed.
// Objects don't show these.
func (s *State) addClusterStatus(rg *v1alpha1.ResourceGraph) {
	current := rg.Status.ObservedGeneration == rg.Generation
	// A node that the observation shows as Pending, because an apply would write it,
	// may have failed in the applier. The failure says more.
	for i := range s.Nodes {
		n := &s.Nodes[i]
		reported, ok := rg.Status.NodeStates[n.ID]
		if current && ok && n.Phase == v1alpha1.NodePending && reported.Phase == v1alpha1.NodeFailed {
			n.Phase, n.Message = v1alpha1.NodeFailed, reported.Message
		}
	}
	s.Cause = s.clusterCause(rg, current)
}

// reportedStatus returns the state of a graph as the applier in the cluster reports it. The
// objects are in another cluster, so they aren't looked at.
func reportedStatus(rg *v1alpha1.ResourceGraph) (*State, error) {
	owner := inventory.Owner{Namespace: rg.Namespace, Name: rg.Name}
	e, err := engine.New(rg, &inventory.Inventory{Owner: owner}, engine.Options{Mode: engine.ModeStatus})
	if err != nil {
		return nil, err
	}
	current := rg.Status.ObservedGeneration == rg.Generation
	s := &State{
		Owner: owner, Source: SourceReported, Unfinished: rg.Status.Inventory != nil && !rg.Status.Inventory.Complete,
		Ready: current && meta.IsStatusConditionTrue(rg.Status.Conditions, v1alpha1.ConditionReady),
	}
	needs := e.Dependencies()
	for _, n := range e.Statuses() {
		reported := rg.Status.NodeStates[n.ID]
		n.Phase, n.Message = cmp.Or(reported.Phase, v1alpha1.NodePending), reported.Message
		s.Nodes = append(s.Nodes, NodeState{n, needs[n.ID]})
	}
	for name, raw := range rg.Status.Outputs {
		var value any
		if err := json.Unmarshal(raw.Raw, &value); err != nil {
			return nil, fmt.Errorf("graph %s: output %s: %w", owner, name, err)
		}
		if s.Outputs == nil {
			s.Outputs = map[string]any{}
		}
		s.Outputs[name] = value
	}
	s.Cause = s.clusterCause(rg, current)
	return s, nil
}

// clusterCause returns State.Cause. Current is set if the status is about the
// current generation. The condition Stalled is left out if nodes show failures,
// because these are its cause.
func (s *State) clusterCause(rg *v1alpha1.ResourceGraph, current bool) string {
	// message returns the message of a condition on one line, "" if there is none.
	message := func(condition string) string {
		if c := meta.FindStatusCondition(rg.Status.Conditions, condition); c != nil {
			return source.OneLine(c.Message, v1alpha1.MaxMessage)
		}
		return ""
	}
	stalled := meta.IsStatusConditionTrue(rg.Status.Conditions, v1alpha1.ConditionStalled)
	failed := slices.ContainsFunc(s.Nodes, func(n NodeState) bool { return n.Phase == v1alpha1.NodeFailed })
	// The order is that of precedence: a graph that is being deleted may be suspended
	// as well.
	switch {
	case rg.DeletionTimestamp != nil && current && message(v1alpha1.ConditionReady) != "":
		return "is being deleted: " + message(v1alpha1.ConditionReady)
	case rg.DeletionTimestamp != nil:
		return "is being deleted"
	case rg.Spec.Suspend:
		return "is suspended"
	case rg.Labels[v1alpha1.LabelPaused] == "true":
		return "is paused"
	case rg.Status.ObservedGeneration <= 0: // the CRD's default is -1
		return "no applier has seen it yet"
	case !current:
		return "the applier hasn't seen this revision yet"
	case stalled && !failed:
		return message(v1alpha1.ConditionStalled)
	case s.leaving() && meta.IsStatusConditionTrue(rg.Status.Conditions, v1alpha1.ConditionReady):
		return message(v1alpha1.ConditionReady) // has the times of the removals
	}
	return ""
}

// leaving reports whether objects that left the graph wait for the end of a grace
// period.
func (s *State) leaving() bool {
	return slices.ContainsFunc(s.Nodes, func(n NodeState) bool { return n.ID == "" && n.Phase == v1alpha1.NodeWaiting })
}
