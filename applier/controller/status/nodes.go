package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/internal/source"
)

// nodesOf returns the statuses without those of objects that left the graph.
func nodesOf(statuses []engine.Status) []engine.Status {
	return slices.DeleteFunc(slices.Clone(statuses), func(s engine.Status) bool { return s.ID == "" })
}

// countNodes returns the numbers of nodes.
func countNodes(statuses []engine.Status) *v1alpha1.NodeCounts {
	n := &v1alpha1.NodeCounts{}
	for _, s := range nodesOf(statuses) {
		n.Total++
		switch s.Phase {
		case v1alpha1.NodeReady:
			n.Ready++
		case v1alpha1.NodeFailed, v1alpha1.NodeDegraded:
			n.Failed++
		}
	}
	n.Summary = fmt.Sprintf("%d/%d", n.Ready, n.Total)
	return n
}

// nodeStates returns the states of the nodes. If there are more than a status
// holds, nodes that aren't ready take precedence.
//
// Times that an earlier run recorded are kept for nodes that this run only read.
// This run doesn't know when such a node was applied, and its ReadyAt is the time
// at which this run saw it. ReadyAt is dropped for every node that isn't ready
// now.
func nodeStates(statuses []engine.Status, stored map[string]v1alpha1.NodeState) map[string]v1alpha1.NodeState {
	nodes := nodesOf(statuses)
	if len(nodes) > v1alpha1.MaxNodeStates {
		slices.SortStableFunc(nodes, func(a, b engine.Status) int { return cmp.Compare(rank(a), rank(b)) })
		nodes = nodes[:v1alpha1.MaxNodeStates]
	}
	messages := make([]string, len(nodes))
	said := map[string]string{} // shared failures, by message: the first node with it
	for i := range nodes {
		messages[i] = cmp.Or(nodes[i].Message, DriftMessage(&nodes[i]))
		if !nodes[i].Shared {
			continue
		}
		if first, ok := said[messages[i]]; ok {
			messages[i] = "as node " + first
		} else {
			said[messages[i]] = nodes[i].ID
		}
	}
	limit := messageLimit(messages)
	states := make(map[string]v1alpha1.NodeState, len(nodes))
	for i, s := range nodes {
		old := stored[s.ID]
		state := v1alpha1.NodeState{
			Phase: s.Phase, Message: source.OneLine(messages[i], limit),
			AppliedAt: v1alpha1.NewMilliTime(s.AppliedAt), ReadyAt: v1alpha1.NewMilliTime(s.ReadyAt), Adopted: old.Adopted || s.Op == engine.Adopted,
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

// rank sorts nodes that are ready last. The sort is stable, so that the others
// keep the order of the graph.
func rank(s engine.Status) int {
	if s.Phase == v1alpha1.NodeReady {
		return 1
	}
	return 0
}

// DriftMessage describes drift that isn't corrected: "was changed by others:
// spec.replicas by kubectl". It returns an empty string if there is none.
func DriftMessage(s *engine.Status) string {
	if !s.Drifted {
		return ""
	}
	return source.OneLine("was changed by others"+TakenFields(s), v1alpha1.MaxMessage)
}

// TakenFields lists the first fields that others changed, with their managers:
// ": spec.replicas by kubectl, …". It returns an empty string if none are known.
func TakenFields(s *engine.Status) string {
	const most = 5
	var fields []string
	for i, t := range s.Taken {
		if i == most {
			fields = append(fields, fmt.Sprintf("and %d more", len(s.Taken)-most))
			break
		}
		fields = append(fields, t.Field+" by "+t.Manager)
	}
	if len(fields) == 0 {
		return ""
	}
	return ": " + strings.Join(fields, ", ")
}
