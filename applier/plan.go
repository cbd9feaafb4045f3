package applier

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/applier/resolve"
	"github.com/pequod-io/pequod/inventory"
	"github.com/pequod-io/pequod/inventory/stored"
)

// PlanOptions configure Plan.
type PlanOptions struct {
	engine.Options
	// NoDryRun only reads objects and sends no dry runs. The plan then doesn't know
	// what would change in an existing object.
	NoDryRun bool
	// Fallback replaces the dry runs that the account may not send. Without it, they
	// are failures of the plan, as they would be failures of the apply.
	Fallback *cluster.Fallback
	// Siblings are graphs that would be applied at the same time, as in [Options].
	Siblings []*v1alpha1.ResourceGraph
}

// Plan is the predicted result of an apply.
type Plan struct {
	Owner inventory.Owner
	// Nodes are in the order of the graph.
	Nodes []PlannedNode
	// Removals are the objects that left the graph, in the order of their removal.
	Removals []PlannedRemoval
}

// PlannedNode is the predicted result for one node.
type PlannedNode struct {
	ID      string
	Key     inventory.Key
	Version string
	Wave    int
	// Op is the predicted operation, "" if Failure or WaitReason prevents it.
	Op engine.Operation
	// Live is the object as it is, nil if it doesn't exist.
	Live *unstructured.Unstructured
	// Object is the predicted object. For an object to be created it is the desired
	// object without the values that the API server adds, because addresses and the
	// like differ in the real apply. It is nil if the object stays unchanged, the owner
	// of its replicas included, or if its change isn't known.
	Object *unstructured.Unstructured
	// Unknown are parts of Object that are known only after the apply. Object
	// contains the live values of these parts, if there are any.
	Unknown []resolve.Unknown
	// Manager is the field manager of the node.
	Manager string
	// RecreateReason is why the object would have to be deleted and recreated, "" if
	// it can be changed in place.
	RecreateReason string
	// Unchecked is why no dry run was possible, "" if there was one.
	Unchecked string
	// Failure is the predicted failure. If it is a conflict, Object is the result
	// of taking the fields.
	Failure *engine.Failure
	// WaitReason describes what the apply would wait for before it writes the
	// object, "" if it could begin.
	WaitReason string
	// Drift are the fields that others changed since this revision was applied.
	Drift []engine.Conflict
	// Taken are the fields that the apply would take from other managers.
	Taken []engine.Conflict
	// Adopts is set if the object exists and would be adopted.
	Adopts bool
	// PreviousOwner is the graph that would hand the object over, nil if none.
	PreviousOwner *inventory.Owner
}

// PlannedRemoval is the predicted removal of an object that left the graph.
type PlannedRemoval struct {
	Key     inventory.Key
	Version string
	// Op is Deleted or Released.
	Op engine.Operation
	// NewOwner is the graph that the object would be handed over to, nil if none.
	NewOwner *inventory.Owner
	// Kept is the annotation or label that makes the plan release the object instead of
	// deleting it, as graph.KeepReason returns it, "" if there is another reason.
	Kept string
	// Live is the object as it is, nil if it can't be read.
	Live *unstructured.Unstructured
	// Message describes what an object waits for that is being deleted already.
	Message string
	// Failure is the predicted failure.
	Failure *engine.Failure
}

// Plan predicts the result of Apply and stores nothing. Writes are sent as dry
// runs, and nodes that depend on a written object are evaluated with its
// predicted state. A failure of one node is part of the plan; the error means
// that there is no plan.
func (a *Applier) Plan(ctx context.Context, rg *v1alpha1.ResourceGraph, o PlanOptions) (*Plan, error) {
	if o.Fallback != nil {
		client, planning := *a.Client, *a
		client.Fallback = o.Fallback
		planning.Client = &client
		a = &planning
	}
	plan, err := a.plan(ctx, rg, o)
	if err != nil {
		return nil, err
	}
	// Siblings hand objects over only when they are applied. So plan again as if
	// they had done so.
	if handedOver := a.withHandovers(ctx, rg, plan, o.Siblings); handedOver != nil {
		return a.plan(ctx, handedOver, o)
	}
	return plan, nil
}

func (a *Applier) plan(ctx context.Context, rg *v1alpha1.ResourceGraph, o PlanOptions) (*Plan, error) {
	if err := stored.Refuse(rg); err != nil {
		return nil, err
	}
	recorded, err := a.load(ctx, inventory.Owner{Namespace: rg.Namespace, Name: rg.Name})
	if err != nil {
		return nil, err
	}
	o.Mode, o.ExplainInterval, o.PollInterval = engine.ModePlan, 0, 0
	o.Namespaced = a.namespaced(ctx)
	e, err := engine.New(rg, recorded, o.Options)
	if err != nil {
		return nil, err
	}
	p := newPlanner(a, e, rg, o)
	if _, err := a.inspect(ctx, e, a.now(), p.executor()); err != nil {
		return nil, err
	}
	return p.result(), nil
}
