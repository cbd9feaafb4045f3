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

// Inventories stores the inventories of graphs. Package configmap implements it.
type Inventories interface {
	// Load returns the inventory of a graph. If none is stored, the result has
	// neither a revision nor entries.
	Load(context.Context, inventory.Owner) (*inventory.Inventory, error)
	// Save stores an inventory. It fails if the stored one changed since Load.
	Save(context.Context, *inventory.Inventory) error
	Remove(context.Context, *inventory.Inventory) error
	// List returns the inventories of a namespace.
	List(ctx context.Context, namespace string) ([]*inventory.Inventory, error)
}

// Applier executes graphs in one cluster. It is safe for concurrent use.
type Applier struct {
	Client      *cluster.Client
	Inventories Inventories
	// Concurrency is the maximum number of requests in flight per graph; 0 means
	// 16.
	Concurrency int
	// NameDrift makes states of graphs name the fields that others changed, and who did.
	// It costs one dry run per drifted object, and needs the right to patch it.
	// [Applier.Follow] repeats the dry run only if the managers of its fields or the graph
	// changed.
	NameDrift bool
	// Now is the clock. Nil means time.Now.
	Now func() time.Time

	// compared is set while a graph is followed.
	compared *comparisons
}

// Options configure Apply and Delete.
type Options struct {
	engine.Options
	// Timeout limits the whole run; 0 means no limit.
	Timeout time.Duration
	// Wait waits until every node is ready and every object that left the graph is
	// gone. Otherwise a run ends when every object is applied and, if every node is
	// ready by then, the deletion of what left was requested.
	Wait bool
	// Siblings are graphs that are applied at the same time. Objects that they list
	// and this graph doesn't any more are handed over to them.
	Siblings []*v1alpha1.ResourceGraph
	// Report receives every change of a status, in order, on one goroutine. It may
	// be nil.
	Report func(Event)
}

// Event is a change of the status of a node, or of an object that left the graph.
type Event struct {
	Time time.Time
	engine.Status
}

// Result describes the end of a run.
type Result struct {
	Phase engine.Phase
	// Statuses are those of the nodes, in the order of the graph, followed by those
	// of objects that left it.
	Statuses []engine.Status
	// Outputs are the evaluated outputs. OutputErrors has the errors of the others.
	Outputs      map[string]any
	OutputErrors map[string]error
	// Unproven are objects that were left alone by a Delete without an inventory: they
	// have the labels of the graph, and another field manager applied them.
	Unproven []inventory.Key
	// RequestError is why the cluster couldn't be reached or read at the end of the
	// run, nil if it could.
	RequestError error
}

// Errors that end a run early. The run still returns a result.
var (
	// ErrTimeout means that Options.Timeout passed.
	ErrTimeout = errors.New("timed out")
	// ErrSuperseded means that another run applies another revision of the graph.
	ErrSuperseded = errors.New("another run applies another revision of the graph")
)

// namespaced returns a function that looks up the scope of a kind in the cluster.
// A kind that the cluster doesn't serve is unknown: the graph may define it.
func (a *Applier) namespaced(ctx context.Context) func(schema.GroupVersionKind) (bool, bool) {
	return func(gvk schema.GroupVersionKind) (namespaced, known bool) {
		kind, err := a.Client.Kinds().Find(ctx, gvk)
		if err != nil {
			return false, false
		}
		return kind.Namespaced, true
	}
}

// load reads an inventory. It retries transient errors of the API server.
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

func (a *Applier) concurrency() int {
	if a.Concurrency > 0 {
		return a.Concurrency
	}
	return 16
}
