package applier

import (
	"context"
	"errors"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/applier/execute"
	"github.com/pequod-io/pequod/inventory"
)

// planner answers the actions of an engine in [engine.ModePlan] with predicted
// outcomes, and collects the details that the statuses of the engine don't have.
type planner struct {
	*Applier
	engine   *engine.Engine
	noDryRun bool
	siblings []*v1alpha1.ResourceGraph
	// kinds and namespaces are defined by nodes of the graph. They may not exist
	// before the apply, and then objects in them can't be checked by a dry run.
	kinds      map[schema.GroupKind]bool
	namespaces map[string]bool

	// mu guards the fields below: actions are executed concurrently.
	mu       sync.Mutex
	live     map[inventory.Key]*unstructured.Unstructured
	nodes    map[string]*PlannedNode // by node id
	removals map[inventory.Key]*PlannedRemoval
}

// newPlanner returns the planner of a graph and its engine.
func newPlanner(a *Applier, e *engine.Engine, rg *v1alpha1.ResourceGraph, o PlanOptions) *planner {
	p := &planner{
		Applier: a, engine: e, noDryRun: o.NoDryRun, siblings: o.Siblings,
		kinds: map[schema.GroupKind]bool{}, namespaces: map[string]bool{},
		live: map[inventory.Key]*unstructured.Unstructured{}, nodes: map[string]*PlannedNode{},
		removals: map[inventory.Key]*PlannedRemoval{},
	}
	g := graph.Read(rg)
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if n.ExternalRef != nil {
			continue
		}
		p.nodes[n.ID] = &PlannedNode{Manager: engine.ManagerOf(n)}
		switch gk := n.GroupKind(); {
		case gk == schema.GroupKind{Kind: "Namespace"}:
			p.namespaces[n.Object.Name] = true
		case gk == schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:
			// A definition that can't be decoded fails as a node, so it is skipped.
			if object, err := n.Decode(); err == nil {
				group, _, _ := unstructured.NestedString(object, "spec", "group")
				kind, _, _ := unstructured.NestedString(object, "spec", "names", "kind")
				p.kinds[schema.GroupKind{Group: group, Kind: kind}] = true
			}
		}
	}
	return p
}

// executor returns the executor of the plan. It reads from the cluster and
// predicts the outcomes of writes.
func (p *planner) executor() *execute.Executor {
	x := &execute.Executor{
		Client: p.Client, Owner: p.engine.Owner(), Write: p.predict,
		Record: func(context.Context, *inventory.Inventory) error { return nil },
		Claims: func(ctx context.Context) (inventory.Claims, error) {
			claims, _, err := p.claims(ctx, p.engine.Owner(), p.siblings)
			return claims, err
		},
	}
	x.Read = func(ctx context.Context, a engine.Action) engine.Outcome {
		o := x.Send(ctx, a)
		p.remember(o)
		return o
	}
	return x
}

// remember stores the live objects of an outcome.
func (p *planner) remember(o engine.Outcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, obj := range append(slices.Clone(o.Objects), o.Object) {
		if obj != nil {
			p.live[engine.KeyOf(obj)] = obj
		}
	}
}

// liveObject returns the live object of a key, nil if it doesn't exist.
func (p *planner) liveObject(key inventory.Key) *unstructured.Unstructured {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.live[key]
}

// predict returns the predicted outcome of a write.
func (p *planner) predict(ctx context.Context, a engine.Action) engine.Outcome {
	if a.Verb == engine.Apply {
		return p.predictApply(ctx, a)
	}
	return p.predictRemoval(ctx, a)
}

// predictRemoval predicts a Delete or Release with a dry run. The outcome is that
// the object is gone.
func (p *planner) predictRemoval(ctx context.Context, a engine.Action) engine.Outcome {
	var f *engine.Failure
	if a.NewOwner != nil {
		o := retryTransient(ctx, func() engine.Outcome {
			return engine.Outcome{Err: p.checkClaim(ctx, a, p.engine.Owner(), p.siblings)}
		})
		if isRefused(o.Err) {
			return o
		}
		errors.As(o.Err, &f)
	}
	if f == nil && !p.noDryRun {
		o := retryTransient(ctx, func() engine.Outcome { return engine.Outcome{Err: p.Client.PreviewRemoval(ctx, a)} })
		errors.As(o.Err, &f)
	}
	if a.Node != "" { // deleted to be recreated: the node shows the failure
		if f != nil {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.nodes[a.Node].Failure = f // it was the immutable field
			return engine.Outcome{Err: terminal(f)}
		}
		return engine.Outcome{}
	}
	op := engine.Deleted
	if a.Verb == engine.Release {
		op = engine.Released
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.removals[a.Key] = &PlannedRemoval{Key: a.Key, Version: a.Version, Op: op, NewOwner: a.NewOwner, Kept: a.Kept, Live: p.live[a.Key], Failure: f}
	return engine.Outcome{}
}

// terminal returns a copy of a failure that the engine doesn't retry: transient
// failures were retried already.
func terminal(f *engine.Failure) *engine.Failure {
	copied := *f
	copied.Terminal = true
	return &copied
}

// result combines the statuses of the engine with the collected details.
func (p *planner) result() *Plan {
	plan := &Plan{Owner: p.engine.Owner()}
	for _, s := range p.engine.Statuses() {
		if s.ID == "" {
			p.addRemoval(plan, s)
			continue
		}
		n := PlannedNode{}
		if details := p.nodes[s.ID]; details != nil {
			n = *details
		}
		n.ID, n.Key, n.Version, n.Wave, n.Live = s.ID, s.Key, s.Version, s.Wave, p.live[s.Key]
		switch s.Phase {
		// A plan counts an object as ready when its result is predicted.
		case v1alpha1.NodeReady:
			n.Op = s.Op
		case v1alpha1.NodeFailed:
			switch {
			case n.Failure != nil && n.Failure.Immutable:
				n.Failure = terminal(n.Failure)
				n.Failure.Message, n.Failure.Cure = s.Message, "" // also why it isn't recreated
			case n.Failure == nil:
				n.Failure = &engine.Failure{Reason: s.Reason, Message: s.Message, Terminal: s.NextAttempt.IsZero()}
			}
		default:
			n.WaitReason = s.Message
			if s.Op == engine.Observed {
				n.Op = s.Op
			}
		}
		plan.Nodes = append(plan.Nodes, n)
	}
	return plan
}

// addRemoval adds an object that left the graph to the plan. An object that is
// gone already isn't part of it.
func (p *planner) addRemoval(plan *Plan, s engine.Status) {
	if r := p.removals[s.Key]; r != nil {
		plan.Removals = append(plan.Removals, *r)
		return
	}
	switch s.Phase {
	case v1alpha1.NodeFailed: // it can't be read
		plan.Removals = append(plan.Removals, PlannedRemoval{
			Key: s.Key, Version: s.Version, Op: engine.Deleted, Failure: &engine.Failure{Reason: s.Reason, Message: s.Message},
		})
	case v1alpha1.NodeDeleting:
		plan.Removals = append(plan.Removals, PlannedRemoval{
			Key: s.Key, Version: s.Version, Op: engine.Deleted, Live: p.live[s.Key], Message: s.Message,
		})
	}
}
