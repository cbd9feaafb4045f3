package applier

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/applier/resolve"
	"github.com/pequod-io/pequod/inventory"
)

// PlanOptions are those of a plan.
type PlanOptions struct {
	engine.Options
	// NoDryRun asks the API server for what there is and for nothing more: no dry
	// run is sent, and what would change in an object isn't known.
	NoDryRun bool
	// Siblings are graphs that would be applied at the same time, as in [Options].
	Siblings []*v1alpha1.ResourceGraph
}

// Plan is what an apply would do.
type Plan struct {
	Owner inventory.Owner
	// Nodes are in the order of the graph.
	Nodes []PlannedNode
	// Removals are the objects that left the graph, in the order of their removal.
	Removals []PlannedRemoval
}

// PlannedNode is what an apply would do for one node.
type PlannedNode struct {
	ID      string
	Key     inventory.Key
	Version string
	Wave    int
	// Op is what would be done to the object, "" if nothing would because of
	// Failure or Waits.
	Op engine.Operation
	// Live is the object as it is, nil if there is none.
	Live *unstructured.Unstructured
	// Object is the object as it would be. Of one that is created it is what the
	// graph says, without what the API server adds: addresses and the like are
	// others when it is really made. It is nil if the object stays as it is, or
	// if it isn't known.
	Object *unstructured.Unstructured
	// Unknown are the parts of Object that are known after the apply. Where the
	// live object has a value for one, Object has it too.
	Unknown []resolve.Unknown
	// Manager is the field manager of the node.
	Manager string
	// RecreateReason says why the object would have to be deleted and made anew.
	RecreateReason string
	// Unchecked says why the API server couldn't be asked about the object.
	Unchecked string
	// Failure is what the apply would fail of. If it is a conflict, Object is
	// what would be if the fields were taken.
	Failure *engine.Failure
	// WaitReason says what the apply would wait for before it touches the object.
	WaitReason string
	// Drift are the fields that others changed since the graph was last applied
	// as it is now.
	Drift []engine.Conflict
	// Taken are the fields that the apply would take from other managers.
	Taken []engine.Conflict
	// Adopts says that the object exists and would be taken over.
	Adopts bool
	// PreviousOwner is the graph that the object would be taken from.
	PreviousOwner *inventory.Owner
}

// PlannedRemoval is what becomes of an object that left the graph.
type PlannedRemoval struct {
	Key     inventory.Key
	Version string
	// Op is Deleted or Released.
	Op engine.Operation
	// NewOwner is the graph that the object is handed over to.
	NewOwner *inventory.Owner
	// Live is the object as it is.
	Live *unstructured.Unstructured
	// Message says what holds up an object that is being deleted already.
	Message string
	// Failure is what its removal would fail of.
	Failure *engine.Failure
}

// Plan says what Apply would do, and stores nothing: what is written is admitted
// as a dry run, and what depends on it is judged by what the API server says it
// would be. Whatever is wrong with one node is told of that node; the error says
// that nothing can be told.
func (a *Applier) Plan(ctx context.Context, rg *v1alpha1.ResourceGraph, o PlanOptions) (*Plan, error) {
	plan, err := a.plan(ctx, rg, o)
	if err != nil {
		return nil, err
	}
	if takes := a.handedOver(ctx, rg, plan, o.Siblings); takes != nil {
		return a.plan(ctx, takes, o)
	}
	return plan, nil
}

func (a *Applier) plan(ctx context.Context, rg *v1alpha1.ResourceGraph, o PlanOptions) (*Plan, error) {
	stored, err := a.load(ctx, inventory.Owner{Namespace: rg.Namespace, Name: rg.Name})
	if err != nil {
		return nil, err
	}
	o.Mode, o.ExplainInterval, o.PollInterval = engine.ModePlan, 0, 0
	o.Namespaced = a.namespaced(ctx)
	e, err := engine.New(rg, stored, o.Options)
	if err != nil {
		return nil, err
	}
	p := newPlanner(a, e, rg, o)
	if _, err := a.look(ctx, e, a.now(), p.executor().Do); err != nil {
		return nil, err
	}
	return p.plan(), nil
}
