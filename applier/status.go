package applier

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/applier/execute"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/inventory"
	"github.com/pequod-io/pequod/inventory/stored"
)

// State is the observed state of a graph.
type State struct {
	Owner  inventory.Owner
	Source Source
	// Ready is set if every object is as desired and ready, and nothing is left to
	// be removed.
	Ready bool
	// Unfinished is set if a run of the graph is active or was interrupted.
	Unfinished bool
	// Cause is a message of the applier in the cluster about the graph as a whole,
	// for example why it isn't executed. It is "" if there is none.
	Cause string
	// Nodes are in the order of the graph. They are followed by the objects that
	// left it and still exist, without an ID.
	Nodes []NodeState
	// Outputs are the evaluated outputs. OutputErrors has the errors of the others.
	Outputs      map[string]any
	OutputErrors map[string]error

	// targets are the objects to watch for changes of the state.
	targets []engine.Target
}

// NodeState is the observed state of a node.
type NodeState struct {
	engine.Status
	// Needs are the ids of the nodes that this one depends on.
	Needs []string
}

// Source is the origin of the nodes of a graph.
type Source string

// The sources.
const (
	// SourceGiven is a graph of the caller.
	SourceGiven Source = "given"
	// SourceCluster is a ResourceGraph in the cluster.
	SourceCluster Source = "cluster"
	// SourceReported is the status of a ResourceGraph whose objects are in another cluster,
	// as the applier reports it.
	SourceReported Source = "reported"
	// SourceInventory is the inventory: its objects are known, and their desired
	// state isn't.
	SourceInventory Source = "inventory"
)

// ErrNoGraph means that neither a graph nor an inventory of a name exists.
var ErrNoGraph = errors.New("there is no such graph")

// Status observes a graph. It writes nothing: nodes that an apply would write are
// Pending, with a message that says why. If the cluster has a ResourceGraph of the same name, the
// state also has the cause that the applier of that ResourceGraph reports.
func (a *Applier) Status(ctx context.Context, rg *v1alpha1.ResourceGraph) (*State, error) {
	if err := stored.Refuse(rg); err != nil {
		return nil, err
	}
	recorded, err := a.load(ctx, inventory.Owner{Namespace: rg.Namespace, Name: rg.Name})
	if err != nil {
		return nil, err
	}
	state, err := a.status(ctx, rg, recorded)
	if err != nil {
		return nil, err
	}
	live, err := a.StoredGraph(ctx, state.Owner)
	switch {
	case apierrors.IsForbidden(err):
		return state, nil // the objects could be read, and the message is only an addition
	case err != nil || live == nil:
		return state, err
	}
	state.Cause = state.clusterCause(live, live.Status.ObservedGeneration == live.Generation)
	if ready := meta.FindStatusCondition(live.Status.Conditions, v1alpha1.ConditionReady); state.Cause == "" && ready != nil && ready.Status != metav1.ConditionTrue {
		state.Cause = source.OneLine(ready.Message, v1alpha1.MaxMessage)
	}
	return state, nil
}

// StatusOf observes a graph by its name. The graph is read from the cluster; if it
// isn't there, its inventory is used. If its objects are in another cluster, the state is
// the one that its status reports.
func (a *Applier) StatusOf(ctx context.Context, owner inventory.Owner) (*State, error) {
	recorded, err := a.load(ctx, owner)
	var distant *stored.DistantError
	if err != nil && !errors.As(err, &distant) {
		return nil, err
	}
	rg, err := a.StoredGraph(ctx, owner)
	switch {
	case err != nil:
		return nil, err
	case rg != nil && rg.Spec.KubeConfig != nil:
		return reportedStatus(rg)
	case distant != nil:
		return nil, distant // the graph was deleted meanwhile
	case rg != nil:
		state, err := a.status(ctx, rg, recorded)
		if err == nil {
			state.Source = SourceCluster
			state.addClusterStatus(rg)
		}
		return state, err
	case recorded.Revision == "":
		return nil, fmt.Errorf("graph %s: %w", owner, ErrNoGraph)
	}
	return a.recordedStatus(ctx, recorded)
}

// The engine looks up a cause only some time after it first observes that an
// object isn't ready. One observation has no time to wait, so it steps the engine
// at two instants: the second is late enough for a lookup.
const (
	instant         = time.Nanosecond
	explainInterval = 2 * instant
)

func (a *Applier) status(ctx context.Context, rg *v1alpha1.ResourceGraph, stored *inventory.Inventory) (*State, error) {
	options := engine.Options{Mode: engine.ModeStatus, NameDrift: a.NameDrift, ExplainInterval: explainInterval, Namespaced: a.namespaced(ctx)}
	switch {
	case rg.Spec.DriftPolicy != v1alpha1.DriftReport:
	case a.NameDrift:
		options.Drift = engine.ReportDriftedFields
	default:
		options.Drift = engine.ReportDrift
	}
	e, err := engine.New(rg, stored, options)
	if err != nil {
		return nil, err
	}
	// Without Write and Record, the executor only reads.
	x := &execute.Executor{
		Client: a.Client, Owner: e.Owner(),
		Claims: func(ctx context.Context) (inventory.Claims, error) {
			claims, _, err := a.claims(ctx, e.Owner(), nil)
			return claims, err
		},
	}
	if a.compared != nil {
		x.Read = a.compared.reader(x.Send)
	}
	now := a.now()
	var phase engine.Phase
	for _, at := range []time.Time{now, now.Add(instant)} {
		if phase, err = a.inspect(ctx, e, at, x); err != nil {
			return nil, err
		}
	}
	// The objects of an unfinished run may all be ready although it has more to do.
	unfinished := e.Unfinished()
	state := &State{
		Owner: e.Owner(), Source: SourceGiven, Ready: phase == engine.Completed && !unfinished, Unfinished: unfinished,
		targets: e.Tracked(),
	}
	needs := e.Dependencies()
	for _, s := range e.Statuses() {
		if s.ID == "" && s.Phase == v1alpha1.NodeGone {
			continue
		}
		if s.ID == "" && s.Phase == v1alpha1.NodePending {
			s.Message = "left the graph; the next apply removes it"
		}
		state.Nodes = append(state.Nodes, NodeState{s, needs[s.ID]})
	}
	state.Outputs, state.OutputErrors = e.Outputs()
	return state, nil
}

// recordedStatus observes a graph that is only known from its inventory: each object should exist
// and be ready. An inventory may have more objects than a graph may read, so it is observed in parts.
func (a *Applier) recordedStatus(ctx context.Context, stored *inventory.Inventory) (*State, error) {
	all := &State{Owner: stored.Owner, Source: SourceInventory, Ready: stored.Complete, Unfinished: !stored.Complete}
	for entries := range slices.Chunk(stored.Entries, graph.MaxExternalRefs) {
		part, err := a.recordedPart(ctx, stored, entries)
		if err != nil {
			return nil, err
		}
		all.Ready = all.Ready && part.Ready
		all.Nodes = append(all.Nodes, part.Nodes...)
		all.targets = append(all.targets, part.targets...)
	}
	return all, nil
}

// recordedPart observes some entries of an inventory. It builds a graph that reads each of them.
func (a *Applier) recordedPart(ctx context.Context, stored *inventory.Inventory, recorded []inventory.Entry) (*State, error) {
	rg := &v1alpha1.ResourceGraph{}
	rg.Name, rg.Namespace = stored.Owner.Name, stored.Owner.Namespace
	entries := map[string]inventory.Entry{}
	for i, entry := range recorded {
		id := "object-" + strconv.Itoa(i) // entries may have the same node id, or none
		entries[id] = entry
		gv := schema.GroupVersion{Group: entry.Group, Version: entry.Version}
		rg.Spec.Graph.Nodes = append(rg.Spec.Graph.Nodes, v1alpha1.Node{
			ID:          id,
			ExternalRef: &v1alpha1.ObjectRef{APIVersion: gv.String(), Kind: entry.Kind, Namespace: entry.Namespace, Name: entry.Name},
		})
	}
	// Without entries, the engine takes nothing for objects that left the graph.
	state, err := a.status(ctx, rg, &inventory.Inventory{Owner: stored.Owner, Revision: stored.Revision})
	if err != nil {
		return nil, err
	}
	for i := range state.Nodes {
		n := &state.Nodes[i]
		entry := entries[n.ID]
		n.ID, n.Wave = entry.Node, entry.Wave
	}
	for i := range state.targets {
		state.targets[i].Labeled = true // although they are external in rg
	}
	return state, nil
}
