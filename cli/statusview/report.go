package statusview

import (
	"errors"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/applier/resolve"
)

// Report is the JSON form of the state of graphs. Fields may be added; none is
// renamed or removed.
type Report struct {
	Graphs []Graph `json:"graphs"`
	// Outside has the Actions, Monitors and Receivers that are nodes of the graphs.
	Outside
}

// Graph is the state of one graph. Nodes and objects that left the graph are in
// one list.
type Graph struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Source is where the list of nodes was read: given (a file), cluster or
	// inventory.
	Source applier.Source `json:"source"`
	// Ready is set if every object is as desired and ready, and nothing is left
	// to be removed.
	Ready bool `json:"ready"`
	// Unfinished is set if a run is in progress or was interrupted.
	Unfinished bool `json:"unfinished,omitempty"`
	// Cause is the message of the applier in the cluster about the graph as a whole.
	Cause string `json:"cause,omitempty"`
	Nodes []Node `json:"nodes"`
	// Outputs has the outputs with a value. UnknownOutputs has the reason for each
	// output without one.
	Outputs        map[string]any    `json:"outputs,omitempty"`
	UnknownOutputs map[string]string `json:"unknownOutputs,omitempty"`
}

// Node is the state of one node. A node without an id is an object that left the
// graph.
type Node struct {
	ID string `json:"id,omitempty"`
	// Wave counts from 1.
	Wave       int    `json:"wave"`
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
	// Phase, Reason and Message are those of package applier. Reason is one
	// CamelCase word, Message a phrase.
	Phase   v1alpha1.NodePhase `json:"phase"`
	Reason  string             `json:"reason,omitempty"`
	Message string             `json:"message,omitempty"`
	// BlockedBy is the id of a node that this node waits for.
	BlockedBy string `json:"blockedBy,omitempty"`
	// Drifted is set if others changed the object and the graph only reports drift.
	Drifted bool `json:"drifted,omitempty"`
	// ChangedBy are the fields that others changed, if they were looked up.
	ChangedBy []Change `json:"changedBy,omitempty"`
	// Needs lists the ids of the nodes that the node depends on.
	Needs []string `json:"needs,omitempty"`
}

// Change is a field that another field manager has changed.
type Change struct {
	Field   string `json:"field"`
	Manager string `json:"manager"`
}

// changes returns the changed fields of a node.
func changes(taken []engine.Conflict) []Change {
	var all []Change
	for _, t := range taken {
		all = append(all, Change{Field: t.Field, Manager: t.Manager})
	}
	return all
}

// reason returns the message of an error of an output, without the name of the
// output, because the report has the name as the key.
func reason(err error) string {
	var (
		waits *resolve.WaitError
		fails *resolve.EvalError
	)
	switch {
	case errors.As(err, &waits):
		return waits.Message
	case errors.As(err, &fails):
		return fails.Message
	}
	return err.Error()
}

// NewReport returns the report of states, in their order. Lists are never nil, so
// that they are encoded as lists. Waves, which the applier counts from 0, count
// from 1 here.
func NewReport(states []*applier.State) Report {
	r := Report{Graphs: []Graph{}}
	for _, s := range states {
		g := Graph{
			Namespace: s.Owner.Namespace, Name: s.Owner.Name, Source: s.Source, Ready: s.Ready,
			Unfinished: s.Unfinished, Cause: s.Cause, Nodes: []Node{}, Outputs: s.Outputs,
		}
		// UnknownOutputs stays nil without errors, so that JSON leaves it out.
		for name, err := range s.OutputErrors {
			if g.UnknownOutputs == nil {
				g.UnknownOutputs = map[string]string{}
			}
			g.UnknownOutputs[name] = reason(err)
		}
		for _, n := range s.Nodes {
			g.Nodes = append(g.Nodes, Node{
				ID: n.ID, Wave: n.Wave + 1,
				APIVersion: schema.GroupVersion{Group: n.Key.Group, Version: n.Version}.String(),
				Kind:       n.Key.Kind, Namespace: n.Key.Namespace, Name: n.Key.Name,
				Phase: n.Phase, Reason: n.Reason, Message: n.Message, BlockedBy: n.BlockedBy, Drifted: n.Drifted, ChangedBy: changes(n.Taken), Needs: n.Needs,
			})
		}
		r.Graphs = append(r.Graphs, g)
	}
	return r
}
