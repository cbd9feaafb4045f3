package applier

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
)

// Inventories keeps the inventories of graphs, as package configmap does.
type Inventories interface {
	// Load gives an inventory without a revision where there is none.
	Load(context.Context, inventory.Owner) (*inventory.Inventory, error)
	Save(context.Context, *inventory.Inventory) error
	Remove(context.Context, *inventory.Inventory) error
	List(ctx context.Context, namespace string) ([]*inventory.Inventory, error)
}

// Applier executes graphs in one cluster.
type Applier struct {
	Client      *cluster.Client
	Inventories Inventories
	// Concurrency is how many requests are under way at once; 0 means 16.
	Concurrency int
	// Now is the clock, nil for time.Now.
	Now func() time.Time
}

// Options are those of a run.
type Options struct {
	engine.Options
	// Timeout bounds the whole run; 0 means no bound.
	Timeout time.Duration
	// Wait says to wait until everything is ready and what left the graph is
	// gone. Without it a run ends when every object is applied, and if everything
	// is ready by then, the deletion of what left has been asked for.
	Wait bool
	// Siblings are graphs that are applied at the same time: what they list, and
	// this one doesn't any more, is handed over to them.
	Siblings []*v1alpha1.ResourceGraph
	// Report is told of every change of a node's state, in order, by one
	// goroutine.
	Report func(Event)
}

// Event is a change of the state of one node, or of an object that left the graph.
type Event struct {
	Time time.Time
	engine.Status
}

// Result is how a run ended.
type Result struct {
	Phase engine.Phase
	// Statuses are those of the nodes in the order of the graph, and then of
	// the objects that left it.
	Statuses []engine.Status
	// Outputs are those that could be told; Unknown says why the others couldn't.
	Outputs      map[string]any
	OutputErrors map[string]error
	// RequestError is what kept the run from asking the cluster when it ended, nil if
	// nothing did.
	RequestError error
}

// Errors that end a run before it is complete. The result says where it stood.
var (
	// ErrTimeout says that Options.Timeout passed.
	ErrTimeout = errors.New("timed out")
	// ErrSuperseded says that another run applies another revision of the graph.
	ErrSuperseded = errors.New("another run applies another revision of the graph")
)

// Apply executes a graph. The error says that the run couldn't be finished; a
// run that came to its end without everything ready is no error, but a result
// whose phase is [engine.Stuck].
func (a *Applier) Apply(ctx context.Context, rg *v1alpha1.ResourceGraph, o Options) (*Result, error) {
	stored, err := a.load(ctx, inventory.Owner{Namespace: rg.Namespace, Name: rg.Name})
	if err != nil {
		return nil, err
	}
	o.Namespaced, o.NoWait = a.namespaced(ctx), !o.Wait
	if o.Prune {
		o.HandsOver = yields(rg, o.Siblings, o.Namespaced)
	}
	e, err := engine.New(rg, stored, o.Options)
	if err != nil {
		return nil, err
	}
	return a.run(ctx, e, o)
}

// namespaced asks the cluster for the scope of kinds that nobody else knows.
func (a *Applier) namespaced(ctx context.Context) func(schema.GroupVersionKind) (bool, bool) {
	return func(gvk schema.GroupVersionKind) (namespaced, known bool) {
		kind, err := a.Client.Kinds().Find(ctx, gvk)
		if err != nil {
			return false, false // it may come with the graph
		}
		return kind.Namespaced, true
	}
}

// load reads an inventory, also where the API server has trouble.
func (a *Applier) load(ctx context.Context, owner inventory.Owner) (*inventory.Inventory, error) {
	var stored *inventory.Inventory
	err := cluster.Retry(ctx, func() (err error) {
		stored, err = a.Inventories.Load(ctx, owner)
		return err
	})
	return stored, err
}

func (a *Applier) now() time.Time {
	if a.Now != nil {
		return a.Now()
	}
	return time.Now()
}
