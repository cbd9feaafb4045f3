package controller

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/shards"
)

// Options configure the controller. The zero value works for graphs that name
// their service account.
type Options struct {
	// Concurrent is the number of graphs that are stepped at once; 0 means 4.
	// Eleven times as many requests may be in flight, see requestsPerWorker.
	Concurrent int
	// Resync is the interval at which graphs that failed for good are tried again,
	// and at which objects that can't be watched are read; 0 means 5 minutes.
	Resync time.Duration
	// Relist is the longest time until the watched objects of all graphs are listed
	// again, with one request per kind, in case that an event was lost; 0 means never.
	// Objects that are watched by name are listed in turn, one per graph and interval.
	Relist time.Duration
	// PruneGrace is how long an object stays after it left a graph. A graph that lists
	// it meanwhile takes it over. 0 means that it is pruned at once. The period begins
	// again when the history of the cluster was rewritten.
	PruneGrace time.Duration
	// ReadTrust is how long a graph's account is assumed to be allowed to read an object
	// after it read it; 0 means a minute. Watches have the
	// rights of the applier.
	ReadTrust time.Duration
	// DefaultServiceAccount is the account of graphs that don't name one. If it is
	// empty, such a graph isn't executed.
	DefaultServiceAccount string
	// NoCrossNamespace refuses graphs with objects in another namespace than the
	// graph's.
	NoCrossNamespace bool
	// Namespace restricts the controller to the graphs of one namespace. Empty
	// means all namespaces.
	Namespace string
	// Selector restricts the controller to the graphs with matching labels; nil
	// means all graphs, except that [Options.Operator] excludes some. A graph that stops matching is left as it is, with its
	// finalizer, for the controller of another selector.
	Selector labels.Selector
	// Shards divides these graphs among several replicas, which all work; nil means that this
	// process executes all of them.
	Shards Shards
	// Operator makes the controller that of pequod-manager; nil is the controller of
	// pequod-applier.
	Operator *Operator
	// Wall is the wall clock whose times are recorded in inventories; nil means
	// time.Now. Everything else is measured by the monotonic clock.
	Wall func() time.Time
	// Clock tells the time; nil means the clock of the system. Tests let hours pass.
	Clock Clock
	// Metrics receives what is to be counted; nil means that nothing is.
	Metrics Recorder
	// AtRest is called when nothing was to be done for some seconds, after much was: most
	// of the memory that was used meanwhile is free then. Nil means that nothing is called.
	AtRest func()
}

// Operator are the options of the controller of pequod-manager. It executes the graphs with
// [v1alpha1.OperatorExecutes] and no others; the controller of pequod-applier executes all
// others. Both can run in one cluster.
type Operator struct {
	// Account returns the service account of a graph that names none. The graph is stalled
	// with the error if it has no account.
	Account func(*v1alpha1.ResourceGraph) (types.NamespacedName, error)
	// Lost returns why the objects of a graph that is being deleted must stay, or "". The graph is
	// abandoned then. Nil abandons none.
	Lost func(context.Context, *v1alpha1.ResourceGraph) (string, error)
	// Refused returns why no graph may be executed as such an account at the moment, or "".
	// It may be called by any goroutine. Nil refuses nothing.
	Refused func() string
	// Changed gets a value when Refused has returned something else than before: graphs
	// that are stalled for it are tried again. It may be nil.
	Changed <-chan struct{}
	// Graphs, unless it is nil, also gets all graphs that pequod-manager made, whoever executes
	// them, so that a process watches them once. It gets each list and event before the
	// controller acts on it.
	Graphs GraphStore
}

// GraphStore gets the graphs that a reflector lists and watches. It must neither keep nor change
// them.
type GraphStore interface {
	cache.ReflectorStore
	cache.ReflectorBookmarkStore
}

// Shards divides the graphs among replicas. [shards.Replica] implements it.
type Shards interface {
	// Of returns the shard of a graph.
	Of(uid types.UID) int
	// Selector returns the selector of the graphs of shards, which are sorted, for lists and
	// watches. It is "" if the API server can't select them.
	Selector(shards []int) string
	// Without returns the buckets that have no graph of the shards, see [v1alpha1.LabelBucket].
	Without(shards []int) []string
	// Run calls work when the shards of this replica change, until ctx is done. An error means
	// that other replicas may execute the graphs of this one soon: it must stop at once.
	Run(ctx context.Context, work shards.Work) error
}

// selector returns the selector of the graphs that the controller executes.
func (o Options) selector() labels.Selector {
	selector, operator := labels.Everything(), selection.NotEquals
	if o.Selector != nil {
		selector = o.Selector
	}
	if o.Operator != nil {
		operator = selection.Equals
	}
	made, err := labels.NewRequirement(v1alpha1.LabelOperator, operator, []string{v1alpha1.OperatorExecutes})
	if err != nil {
		panic(err) // all parts are constants
	}
	return selector.Add(*made)
}

// shared returns the store that also gets the graphs, or nil.
func (o Options) shared() GraphStore {
	if o.Operator == nil {
		return nil
	}
	return o.Operator.Graphs
}

// Clock tells the time by which graphs are retried, damped and looked at again. It
// is safe for concurrent use.
type Clock interface {
	Now() time.Time
	// Until returns how long to wait until a time.
	Until(time.Time) time.Duration
}

// systemClock is the clock of the system.
type systemClock struct{}

func (systemClock) Now() time.Time                  { return time.Now() }
func (systemClock) Until(t time.Time) time.Duration { return time.Until(t) }
