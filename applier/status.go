package applier

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/applier/execute"
	"github.com/pequod-io/pequod/inventory"
)

// State is how a graph is now.
type State struct {
	Owner inventory.Owner
	// Source says where the nodes are known from.
	Source Source
	// Ready says that every node is as the graph says, and ready, and that
	// nothing is left to be removed.
	Ready bool
	// Unfinished says that a run of the graph began that hasn't come to its end.
	Unfinished bool
	// Cause is what the applier in the cluster says of a graph that it executes, as
	// far as it is about no single node: why nothing is done, for instance.
	Cause string
	// Nodes are in the order of the graph, and then there are the objects that
	// left it and are still there, without an ID.
	Nodes []NodeState
	// Outputs are those that can be told; Unknown says why the others can't.
	Outputs      map[string]any
	OutputErrors map[string]error

	held []engine.Target // where news come from
}

// NodeState is the state of one node.
type NodeState struct {
	engine.Status
	// Needs are the nodes that this one waits for.
	Needs []string
}

// Source says where the nodes of a graph are known from.
type Source string

// The sources.
const (
	// SourceGiven is a graph that the caller has.
	SourceGiven Source = "given"
	// SourceCluster is the ResourceGraph in the cluster.
	SourceCluster Source = "cluster"
	// SourceInventory is what was recorded when the graph was last applied: of
	// its objects it is known which they are, and not how they should be.
	SourceInventory Source = "inventory"
)

// ErrNoGraph says that there is neither a graph nor an inventory of a name.
var ErrNoGraph = errors.New("there is no such graph")

// Status says how a graph is now. It writes nothing: a node that an apply would
// change says so.
func (a *Applier) Status(ctx context.Context, rg *v1alpha1.ResourceGraph) (*State, error) {
	stored, err := a.load(ctx, inventory.Owner{Namespace: rg.Namespace, Name: rg.Name})
	if err != nil {
		return nil, err
	}
	return a.status(ctx, rg, stored)
}

// StatusOf is Status of a graph that is known by its name: as it stands in the
// cluster, or where it doesn't, by the record of what was applied.
func (a *Applier) StatusOf(ctx context.Context, owner inventory.Owner) (*State, error) {
	stored, err := a.load(ctx, owner)
	if err != nil {
		return nil, err
	}
	rg, err := a.graph(ctx, owner)
	switch {
	case err != nil:
		return nil, err
	case rg != nil:
		state, err := a.status(ctx, rg, stored)
		if err == nil {
			state.Source = SourceCluster
			state.told(rg)
		}
		return state, err
	case stored.Revision == "":
		return nil, fmt.Errorf("graph %s: %w", owner, ErrNoGraph)
	}
	return a.recorded(ctx, stored)
}

// graph reads a ResourceGraph of the cluster, nil if there is none.
func (a *Applier) graph(ctx context.Context, owner inventory.Owner) (*v1alpha1.ResourceGraph, error) {
	key := inventory.Key{Group: v1alpha1.GroupVersion.Group, Kind: "ResourceGraph", Namespace: owner.Namespace, Name: owner.Name}
	obj, err := a.Client.Get(ctx, key, v1alpha1.GroupVersion.Version)
	var noKind *cluster.NoKindError
	switch {
	case errors.As(err, &noKind):
		return nil, nil // graphs are applied from outside
	case err != nil:
		return nil, fmt.Errorf("graph %s: %w", owner, err)
	case obj == nil:
		return nil, nil
	}
	rg := &v1alpha1.ResourceGraph{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, rg); err != nil {
		return nil, fmt.Errorf("graph %s: %w", owner, err)
	}
	return rg, nil
}

// Whoever looks once has no time to give an object a moment before it is asked
// why it isn't ready: the first look is at one instant, the second, which asks,
// at the next.
const (
	instant = time.Nanosecond
	explain = 2 * instant
)

func (a *Applier) status(ctx context.Context, rg *v1alpha1.ResourceGraph, stored *inventory.Inventory) (*State, error) {
	options := engine.Options{Mode: engine.ModeStatus, ExplainInterval: explain, Namespaced: a.namespaced(ctx)}
	if rg.Spec.DriftPolicy == v1alpha1.DriftReport {
		options.Drift = engine.ReportDrift
	}
	e, err := engine.New(rg, stored, options)
	if err != nil {
		return nil, err
	}
	executor := execute.Executor{
		Client: a.Client, Owner: e.Owner(),
		Claims: func(ctx context.Context) (inventory.Claims, error) { return a.claims(ctx, e.Owner(), nil) },
	}
	now := a.now()
	var phase engine.Phase
	for _, at := range []time.Time{now, now.Add(instant)} {
		if phase, err = a.look(ctx, e, at, executor.Do); err != nil {
			return nil, err
		}
	}
	unfinished := e.Unfinished()
	state := &State{
		Owner: e.Owner(), Source: SourceGiven, Ready: phase == engine.Completed && !unfinished, Unfinished: unfinished, held: e.Tracked(),
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

// recorded is the state of a graph of which only the inventory is known: each
// entry is an object that is to exist and be ready.
func (a *Applier) recorded(ctx context.Context, stored *inventory.Inventory) (*State, error) {
	rg := &v1alpha1.ResourceGraph{}
	rg.Name, rg.Namespace = stored.Owner.Name, stored.Owner.Namespace
	entries := map[string]inventory.Entry{}
	for i, entry := range stored.Entries {
		id := "object-" + strconv.Itoa(i) // ids of nodes that left may be those of others by now
		entries[id] = entry
		gv := schema.GroupVersion{Group: entry.Group, Version: entry.Version}
		rg.Spec.Graph.Nodes = append(rg.Spec.Graph.Nodes, v1alpha1.Node{
			ID:          id,
			ExternalRef: &v1alpha1.ObjectRef{APIVersion: gv.String(), Kind: entry.Kind, Namespace: entry.Namespace, Name: entry.Name},
		})
	}
	state, err := a.status(ctx, rg, &inventory.Inventory{Owner: stored.Owner, Revision: stored.Revision})
	if err != nil {
		return nil, err
	}
	for i := range state.Nodes {
		n := &state.Nodes[i]
		entry := entries[n.ID]
		n.ID, n.Wave = entry.Node, entry.Wave
	}
	for i := range state.held {
		state.held[i].Labeled = true
	}
	state.Source = SourceInventory
	state.Unfinished = !stored.Complete
	state.Ready = state.Ready && stored.Complete
	return state, nil
}
