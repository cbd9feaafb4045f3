package catalog

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/inventory"
)

// State is the state of a graph in one word.
type State string

// The states. Those up to Ready are those of a ResourceGraph. Complete and Incomplete
// describe the last run of a graph without one: the state of its objects is unknown until they
// are read, see [Summary.Observe].
const (
	Failed      State = "failed"
	Degraded    State = "degraded"
	Progressing State = "progressing"
	Deleting    State = "deleting"
	Suspended   State = "suspended"
	Pending     State = "pending"
	Ready       State = "ready"
	Incomplete  State = "incomplete"
	Complete    State = "complete"
	// Given is the state of a graph that is in the files and not in the cluster.
	Given State = "new"
)

// urgency are the states, the one that needs attention most first.
var urgency = [...]State{Failed, Degraded, Incomplete, Deleting, Progressing, Pending, Suspended, Given, Complete, Ready}

// Summary is a graph as the list shows it.
type Summary struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	State     State  `json:"state"`
	// Ready and Nodes are numbers of nodes. For a graph without a ResourceGraph, Nodes is
	// the number of its objects and Ready is -1.
	Ready int `json:"ready"`
	Nodes int `json:"nodes"`
	// Source is the kind and name of the instance, or "".
	Source  string `json:"source,omitempty"`
	Message string `json:"message,omitempty"`
	// Files is set if the graph is in the files, too.
	Files bool `json:"files,omitempty"`
	// Changed is when the state changed last, zero if that is unknown.
	Changed time.Time `json:"changed,omitzero"`

	// IsReady is set if the graph is ready. A suspended graph may be ready, too.
	IsReady bool `json:"-"`
	// Created is when the ResourceGraph or the inventory was created.
	Created time.Time `json:"-"`
	// Objects is the number of objects in the inventory. Finished is set if the last run finished
	// with everything ready, and Revision is the hash of the graph that was recorded last.
	Objects  int    `json:"-"`
	Finished bool   `json:"-"`
	Revision string `json:"-"`
}

// The longest texts of a summary, in bytes.
const (
	maxMessage = 240
	maxSource  = 120
)

// ofGraph returns the summary of a ResourceGraph.
func ofGraph(rg *v1alpha1.ResourceGraph) Summary {
	s := Summary{
		Namespace: rg.Namespace, Name: rg.Name, Nodes: len(rg.Spec.Graph.Nodes),
		Changed: rg.CreationTimestamp.UTC(), Created: rg.CreationTimestamp.UTC(),
	}
	if inv := rg.Status.Inventory; inv != nil {
		s.Objects, s.Finished, s.Revision = inv.Count, inv.Complete, inv.Revision
	}
	if from := rg.Spec.SourceRef; from.Kind != "" {
		s.Source = source.OneLine(from.Kind+"/"+from.Name, maxSource)
	}
	if c := meta.FindStatusCondition(rg.Status.Conditions, v1alpha1.ConditionReady); c != nil {
		s.Message, s.Changed = oneLine(c.Message), c.LastTransitionTime.UTC()
	}
	if c := meta.FindStatusCondition(rg.Status.Conditions, v1alpha1.ConditionStalled); c != nil && s.Message == "" {
		s.Message = oneLine(c.Message)
	}
	// A status lists nodes that aren't ready first, so the others are ready if it lists
	// any.
	if len(rg.Status.NodeStates) > 0 {
		s.Ready = s.Nodes
		for _, n := range rg.Status.NodeStates {
			if n.Phase != v1alpha1.NodeReady {
				s.Ready--
			}
		}
		s.Ready = max(0, s.Ready)
	}
	s.State = stateOf(rg)
	s.IsReady = s.State != Deleting && rg.Status.ObservedGeneration == rg.Generation && meta.IsStatusConditionTrue(rg.Status.Conditions, v1alpha1.ConditionReady)
	switch {
	case s.State == Pending && s.Message == "":
		s.Message = "no applier has seen it yet"
	case s.State == Progressing && rg.Status.ObservedGeneration != rg.Generation:
		s.Message = "the applier hasn't seen this revision yet"
	}
	return s
}

// stateOf returns the state of a ResourceGraph. The order is that of precedence.
func stateOf(rg *v1alpha1.ResourceGraph) State {
	switch {
	case rg.DeletionTimestamp != nil:
		return Deleting
	case rg.Spec.Suspend, rg.Labels[v1alpha1.LabelPaused] == "true":
		return Suspended
	case rg.Status.ObservedGeneration <= 0: // the CRD's default is -1
		return Pending
	case rg.Status.ObservedGeneration != rg.Generation:
		return Progressing
	case rg.Status.Phase == v1alpha1.GraphFailed, meta.IsStatusConditionTrue(rg.Status.Conditions, v1alpha1.ConditionStalled):
		return Failed
	case rg.Status.Phase == v1alpha1.GraphCompleted:
		return Ready
	case rg.Status.Phase == v1alpha1.GraphExecuting && hasDegraded(rg.Status.NodeStates):
		return Degraded
	case rg.Status.Phase == v1alpha1.GraphExecuting:
		return Progressing
	}
	return Pending
}

// hasDegraded reports whether one of the nodes is degraded.
func hasDegraded(nodes map[string]v1alpha1.NodeState) bool {
	for _, n := range nodes {
		if n.Phase == v1alpha1.NodeDegraded {
			return true
		}
	}
	return false
}

// ofInventory returns the summary of a graph that only the command line executes.
func ofInventory(inv *inventory.Inventory) Summary {
	s := Summary{
		Namespace: inv.Owner.Namespace, Name: inv.Owner.Name, Nodes: len(inv.Entries), Ready: -1, State: Incomplete,
		Objects: len(inv.Entries), Finished: inv.Complete, Revision: inv.Revision,
	}
	if inv.Complete {
		s.State = Complete
	}
	return s
}

// Observe completes the summary of a graph without a ResourceGraph by the observed state of its
// objects. The state is that of the worst node, and the message the one of the first such node.
func (s *Summary) Observe(state *applier.State) {
	s.Ready, s.Nodes, s.IsReady = 0, len(state.Nodes), state.Ready
	s.State = Ready
	if !s.Finished {
		s.State, s.Message = Incomplete, "the last run did not finish"
	}
	for i := range state.Nodes {
		n := &state.Nodes[i]
		of := Progressing
		switch {
		case n.Phase == v1alpha1.NodeReady:
			s.Ready++
			continue
		case n.Phase == v1alpha1.NodeFailed:
			of = Failed
		case n.Phase == v1alpha1.NodeDegraded:
			of = Degraded
		}
		if of.rank() < s.State.rank() {
			s.State = of
			s.Message = oneLine(strings.TrimSuffix(fmt.Sprintf("%s/%s: %s", n.Key.Kind, n.Key.Name, n.Message), ": "))
		}
	}
}

// rank returns the position of a state in urgency.
func (s State) rank() int { return slices.Index(urgency[:], s) }

// compareUrgency orders summaries by their urgency, and equal ones by namespace and name.
func (s Summary) compareUrgency(t Summary) int {
	return cmp.Or(cmp.Compare(s.State.rank(), t.State.rank()), s.compare(t))
}

// compare orders summaries by namespace and name.
func (s Summary) compare(t Summary) int {
	return cmp.Or(cmp.Compare(s.Namespace, t.Namespace), cmp.Compare(s.Name, t.Name))
}

func (s Summary) owner() inventory.Owner {
	return inventory.Owner{Namespace: s.Namespace, Name: s.Name}
}

func oneLine(text string) string { return source.OneLine(text, maxMessage) }
