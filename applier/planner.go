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

// planner answers the actions of an engine with what would come of them, and
// remembers what it was asked to do.
type planner struct {
	*Applier
	engine   *engine.Engine
	offhand  bool
	siblings []*v1alpha1.ResourceGraph
	// brought are the kinds and namespaces that come with the graph.
	kinds      map[schema.GroupKind]bool
	namespaces map[string]bool

	mu      sync.Mutex
	live    map[inventory.Key]*unstructured.Unstructured
	nodes   map[string]*PlannedNode
	leaving map[inventory.Key]*PlannedRemoval
}

func newPlanner(a *Applier, e *engine.Engine, rg *v1alpha1.ResourceGraph, o PlanOptions) *planner {
	p := &planner{
		Applier: a, engine: e, offhand: o.NoDryRun, siblings: o.Siblings,
		kinds: map[schema.GroupKind]bool{}, namespaces: map[string]bool{},
		live: map[inventory.Key]*unstructured.Unstructured{}, nodes: map[string]*PlannedNode{},
		leaving: map[inventory.Key]*PlannedRemoval{},
	}
	g := graph.Read(rg)
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if n.ExternalRef != nil {
			continue
		}
		switch gk := n.GroupKind(); {
		case gk == schema.GroupKind{Kind: "Namespace"}:
			p.namespaces[n.Object.Name] = true
		case gk == schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:
			if object, err := n.Decode(); err == nil {
				group, _, _ := unstructured.NestedString(object, "spec", "group")
				kind, _, _ := unstructured.NestedString(object, "spec", "names", "kind")
				p.kinds[schema.GroupKind{Group: group, Kind: kind}] = true
			}
		}
	}
	return p
}

// executor answers the actions of the plan's engine.
func (p *planner) executor() *execute.Executor {
	return &execute.Executor{
		Client: p.Client, Owner: p.engine.Owner(), Read: p.read, Write: p.predict,
		Record: func(context.Context, *inventory.Inventory) error { return nil },
		Claims: func(ctx context.Context) (inventory.Claims, error) {
			return p.claims(ctx, p.engine.Owner(), p.siblings)
		},
	}
}

// read reads objects and remembers them as they are.
func (p *planner) read(ctx context.Context, a engine.Action) engine.Outcome {
	o := p.Client.Do(ctx, p.engine.Owner().Selector(), a)
	p.see(o)
	return o
}

// predict answers a write with its predicted outcome.
func (p *planner) predict(ctx context.Context, a engine.Action) engine.Outcome {
	if a.Verb == engine.Apply {
		return p.apply(ctx, a)
	}
	return p.remove(ctx, a)
}

// see remembers objects as they are.
func (p *planner) see(o engine.Outcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, obj := range append(slices.Clone(o.Objects), o.Object) {
		if obj != nil {
			p.live[engine.KeyOf(obj)] = obj
		}
	}
}

func (p *planner) liveOf(key inventory.Key) *unstructured.Unstructured {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.live[key]
}

// remove asks whether an object could be deleted or released, and says that it is.
func (p *planner) remove(ctx context.Context, a engine.Action) engine.Outcome {
	var f *engine.Failure
	if !p.offhand {
		o := insist(ctx, func() engine.Outcome { return engine.Outcome{Err: p.Client.PreviewRemoval(ctx, a)} })
		errors.As(o.Err, &f)
	}
	if a.Node != "" { // to be made anew
		if f != nil {
			terminal := *f
			terminal.Terminal = true
			return engine.Outcome{Err: &terminal}
		}
		return engine.Outcome{}
	}
	op := engine.Deleted
	if a.Verb == engine.Release {
		op = engine.Released
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leaving[a.Key] = &PlannedRemoval{Key: a.Key, Version: a.Version, Op: op, NewOwner: a.NewOwner, Live: p.live[a.Key], Failure: f}
	return engine.Outcome{}
}

// plan puts together what the engine decided and what was found out.
func (p *planner) plan() *Plan {
	plan := &Plan{Owner: p.engine.Owner()}
	for _, s := range p.engine.Statuses() {
		if s.ID == "" {
			p.leave(plan, s)
			continue
		}
		n := PlannedNode{}
		if found := p.nodes[s.ID]; found != nil {
			n = *found
		}
		n.ID, n.Key, n.Version, n.Wave, n.Live = s.ID, s.Key, s.Version, s.Wave, p.live[s.Key]
		switch s.Phase {
		case v1alpha1.NodeReady:
			n.Op = s.Op
		case v1alpha1.NodeFailed:
			if n.Failure == nil {
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

// leave adds an object that left the graph, if it is still there.
func (p *planner) leave(plan *Plan, s engine.Status) {
	if l := p.leaving[s.Key]; l != nil {
		plan.Removals = append(plan.Removals, *l)
		return
	}
	if s.Phase == v1alpha1.NodeDeleting {
		plan.Removals = append(plan.Removals, PlannedRemoval{
			Key: s.Key, Version: s.Version, Op: engine.Deleted, Live: p.live[s.Key], Message: s.Message,
		})
	}
}
