package catalog

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/inventory"
)

// State is the state of a graph in one word.
type State string

// The states. The first five are those of a ResourceGraph. Complete and Incomplete
// describe the last run of a graph without one, as `pequod status` lists them: the
// state of its objects is unknown until they are read.
const (
	Failed      State = "failed"
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
}

// The longest texts of a summary, in bytes.
const (
	maxMessage = 240
	maxSource  = 120
)

// ofGraph returns the summary of a ResourceGraph.
func ofGraph(rg *v1alpha1.ResourceGraph) Summary {
	s := Summary{Namespace: rg.Namespace, Name: rg.Name, Nodes: len(rg.Spec.Graph.Nodes), Changed: rg.CreationTimestamp.UTC()}
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
	case rg.Status.Phase == v1alpha1.GraphExecuting:
		return Progressing
	}
	return Pending
}

// ofInventory returns the summary of a graph that only the command line executes.
func ofInventory(inv *inventory.Inventory) Summary {
	s := Summary{Namespace: inv.Owner.Namespace, Name: inv.Owner.Name, Nodes: len(inv.Entries), Ready: -1, State: Incomplete}
	if inv.Complete {
		s.State = Complete
	}
	return s
}

// compare orders summaries by namespace and name.
func (s Summary) compare(t Summary) int {
	return cmp.Or(cmp.Compare(s.Namespace, t.Namespace), cmp.Compare(s.Name, t.Name))
}

func (s Summary) owner() inventory.Owner {
	return inventory.Owner{Namespace: s.Namespace, Name: s.Name}
}

func oneLine(text string) string { return source.OneLine(text, maxMessage) }
