package share

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
	"github.com/pequod-io/pequod/inventory/configmap"
)

// Options configure a Share.
type Options struct {
	// Client acts as the applier itself.
	Client *cluster.Client
	// AsAccounts has the watches that many objects share opened with the rights of the
	// accounts, one for each of them. Client is then not used for objects without labels.
	AsAccounts bool
	// Requests is the number of requests that are in flight at once.
	Requests int
	// Steps is the number of graphs that are stepped at once.
	Steps int
	// Starting returns the number of graphs that the process has found when it started
	// and that haven't subscribed yet; nil means that there are none.
	Starting func() int
	// RetryRefused is the longest time until a watch that the API server refused
	// is tried again.
	RetryRefused time.Duration
	// Relist is the longest time until the objects of graphs are listed again, in
	// case that an event was lost; 0 means never.
	Relist time.Duration
	// Managed returns the label selector of the objects of graphs; nil means [Managed]. See
	// [Share.Reselect].
	Managed func() string
	// Listings reads what the graphs of a namespace list: objects that another graph
	// lists are handed over to it instead of being deleted.
	Listings ReadNamespace[Listings]
	// Index reads which graphs of a namespace have inventories in ConfigMaps.
	Index ReadNamespace[configmap.Index]
	// Now tells the time for what accounts may; nil means time.Now.
	Now func() time.Time
	Log logr.Logger
}

// Share bundles the services that all graphs share. It is safe for concurrent
// use.
type Share struct {
	log        logr.Logger
	cluster    string // see [Share.Distant]; empty for the cluster of the graphs
	pool       *pool  // of requests
	steps      *pool  // of computations
	identities *identities
	hub        *hub
	surveys    *surveys
	listings   *reads[Listings]
	indices    *reads[configmap.Index]
	departures *departures
	epoch      atomic.Int64
}

// New returns a Share. Jobs and watches wait until [Share.Run] is called.
func New(o Options) *Share {
	p, steps := newPool(o.Requests), newPool(o.Steps)
	h := newHub(o.Client, o.RetryRefused, o.Relist, steps.waiting)
	h.asAccounts = o.AsAccounts
	if o.Managed != nil {
		h.managed = o.Managed
	}
	if o.Starting != nil {
		h.startingGraphs = o.Starting
	}
	s := &Share{
		log: o.Log, pool: p, steps: steps, identities: newIdentities(o.Client, o.Now), hub: h,
		departures: newDepartures(),
		listings:   newReads(p, o.Listings, o.Log), indices: newReads(p, o.Index, o.Log),
	}
	s.surveys = &surveys{pool: p, own: o.Client, watches: h, owner: s.owner, managed: h.managed}
	return s
}

// Distant returns a Share for graphs whose objects are in another cluster, which a client
// of that cluster reaches. It has watches, surveys and departures of its own, and uses the
// pools of s. Name distinguishes the clusters of a namespace: in the pools, the graphs of
// each count as those of a namespace of their own, so that the other graphs proceed if it
// doesn't answer. The Share has no listings and indices.
//
// [Share.Watch] keeps its watches open.
func (s *Share) Distant(client *cluster.Client, name string) *Share {
	h := newHub(client, s.hub.retryRefused, s.hub.relist, s.steps.waiting)
	h.startingGraphs, h.managed, h.distant = s.hub.startingGraphs, s.hub.managed, true
	d := &Share{
		log: s.log, cluster: name, pool: s.pool, steps: s.steps, hub: h, departures: newDepartures(),
		identities: newIdentities(client, s.identities.now),
	}
	d.identities.distant = true
	d.surveys = &surveys{pool: s.pool, own: client, watches: h, owner: d.owner, managed: h.managed}
	return d
}

// Reselect makes the watches of the objects of graphs begin again with a list, if the selector that
// [Options.Managed] returns has changed. Graphs whose objects it doesn't select must have unsubscribed.
func (s *Share) Reselect() { s.hub.reselect() }

// Watch keeps the watches of a distant cluster open until ctx is done.
func (s *Share) Watch(ctx context.Context) { s.hub.run(ctx) }

// owner returns the owner of jobs for a graph.
func (s *Share) owner(g Graph) any {
	if s.cluster == "" {
		return g
	}
	return distantGraph{g, s.cluster}
}

// Run makes requests and keeps watches open until ctx is done. The watches then
// end at once. Requests in flight are given shutdownTimeout to end before they
// are canceled, and none is started any more: the next leader starts from what
// is in the cluster.
func (s *Share) Run(ctx context.Context, shutdownTimeout time.Duration) {
	var watches sync.WaitGroup
	watches.Go(func() { s.hub.run(ctx) })
	watches.Go(func() { s.steps.run(ctx, shutdownTimeout) })
	s.pool.run(ctx, shutdownTimeout)
	watches.Wait()
}

// Abort cancels the requests in flight when the context of [Share.Run] is done: another process
// is about to execute the graphs.
func (s *Share) Abort() {
	s.pool.abortOnce()
}

// Continue queues a job that continues work of a graph. It doesn't wait for the job.
func (s *Share) Continue(g Graph, job Job) { s.pool.continueWork(s.owner(g), job) }

// Begin queues a job that begins work for a graph. Jobs that continue work take
// precedence over it.
func (s *Share) Begin(g Graph, job Job) { s.pool.beginWork(s.owner(g), job) }

// Step queues a step of a graph, which computes and makes no requests. The caller
// makes sure that a graph has only one step at a time.
func (s *Share) Step(g Graph, step func()) {
	s.steps.continueWork(g, func(context.Context) { step() })
}

// Waiting returns the number of graphs whose steps wait.
func (s *Share) Waiting() int { return s.steps.waiting() }

// Crowded reports whether jobs wait because too many are in flight. Requests
// that are not urgent should be left for later then.
func (s *Share) Crowded() bool { return s.pool.crowded() }

// CrowdedFor reports whether jobs of the namespace of g wait, for example because those of
// a namespace may not use the whole pool.
func (s *Share) CrowdedFor(g Graph) bool { return s.pool.crowdedFor(s.owner(g)) }

// Subscribe makes g receive observations of the targets, and of nothing else.
// Objects that carry the graph's labels are watched with the applier's own rights.
// All others are watched one by one with those of the graph's account, as which
// client acts, or together with the applier's own if they are many.
//
// It returns the selections that can't be watched, which the caller has to poll,
// and the objects whose earlier events g has missed, because it joined a watch that
// was open already. What the caller knows of these from before may be outdated.
func (s *Share) Subscribe(g Graph, a Account, client *cluster.Client, targets []engine.Target) (unwatched []Selection, missed []inventory.Key) {
	return s.hub.subscribe(g, a, client, targets)
}

// SubscribeToAccount makes g receive observations of its service account, and of
// nothing else.
func (s *Share) SubscribeToAccount(g Graph, a Account) { s.hub.subscribeToAccount(g, a) }

// Unsubscribe ends all subscriptions of g.
func (s *Share) Unsubscribe(g Graph) { s.hub.unsubscribe(g) }

// Client returns the client that acts as an account, or nil if the account
// doesn't exist. If verify is set, the API server is asked whether it exists
// even if it existed a moment ago.
func (s *Share) Client(ctx context.Context, a Account, verify bool) (*cluster.Client, error) {
	return s.identities.client(ctx, a, verify)
}

// Retain notes that a graph is executed as an account, so that its client is kept.
func (s *Share) Retain(a Account) { s.identities.retain(a) }

// Drop undoes one Retain. The client of an account without graphs is dropped.
func (s *Share) Drop(a Account) { s.identities.drop(a) }

// Survey reads the objects of a graph, together with those of other graphs if
// many are to be read.
func (s *Share) Survey(v Survey) { s.surveys.add(&v) }

// Listings are the objects that the graphs of a namespace list, by the cluster in which
// the objects are. The zero key is the cluster of the graphs.
type Listings map[v1alpha1.SecretKeyReference]*inventory.Listings

// Listings asks as an account which objects the graphs of a namespace list. The answer is
// given by a goroutine of the pool.
func (s *Share) Listings(a Account, namespace string, client *cluster.Client, answer func(Listings, error)) {
	s.listings.ask(reader{a, namespace}, client, answer)
}

// Index asks as an account which graphs of a namespace have inventories in ConfigMaps. The
// answer is given by a goroutine of the pool.
func (s *Share) Index(a Account, namespace string, client *cluster.Client, answer func(configmap.Index, error)) {
	s.indices.ask(reader{a, namespace}, client, answer)
}

// SetLeaving records which objects leave g and stay for a grace period. It replaces
// what was recorded before.
func (s *Share) SetLeaving(g Graph, keys []inventory.Key) { s.departures.set(g, keys) }

// Leaves reports whether an object leaves the graph that its labels name, and can be
// handed over to g.
func (s *Share) Leaves(g Graph, key inventory.Key, owner inventory.Owner) bool {
	return s.departures.from(g.Owner().Namespace, key, owner)
}

// AnyLeaves reports whether any object leaves a graph.
func (s *Share) AnyLeaves() bool { return s.departures.any() }

// LeavingIn returns the namespaces of graphs that objects leave.
func (s *Share) LeavingIn() map[string]bool { return s.departures.in() }

// Claim notifies the graphs that objects of g leave.
func (s *Share) Claim(g Graph, keys []inventory.Key) { s.departures.claim(g, keys) }

// PanicError returns a recovered panic as an error, and logs the stack.
func (s *Share) PanicError(p any, graph inventory.Owner) error { return panicError(s.log, p, graph) }
