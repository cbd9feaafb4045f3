package controller

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/controller/share"
	"github.com/pequod-io/pequod/applier/controller/status"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/applier/execute"
	"github.com/pequod-io/pequod/applier/shards"
	"github.com/pequod-io/pequod/inventory"
)

// run is one attempt to reach a goal: an execution of a graph, or its deletion.
// It ends when nothing is left to do, when it fails, or when its driver ends it
// because the goal has changed.
type run struct {
	*services
	host         host
	goal         goal
	requested    string // the annotation that asks for a reconciliation
	lackedRights bool   // the last try to delete the graph failed because its account lacks rights
	began        time.Time
	changed      bool // an object was written or deleted
	phase        phase
	objects      *objects
	requests     requests

	// The prerequisites; zero until phase executing or publishing.
	inputs
	executor *execute.Executor
	engine   *engine.Engine // nil until phase executing

	status   statusWriter
	report   *reporter
	revision *v1alpha1.Revision // how the run ended; nil while it is unknown
	// record is an action that waits for the status write in flight, and
	// phaseAfterRecord is the engine's phase once it is done.
	record           *engine.Action
	phaseAfterRecord engine.Phase
	// retryAt is when a request about the graph is tried again that failed: the removal of the
	// finalizer, or the one of phase confirming.
	retryAt time.Time
}

// phase is the current phase of a run. Only the run changes it.
//
//	preparing ──▶ executing ──▶ finalizing ──▶ ending
//	    │             │
//	    └─────────────┴──▶ publishing ──▶ ending
//
// Every phase may be followed by ending. A failed finalizing returns to executing. A run that
// cleans begins with confirming, which preparing follows.
type phase int

const (
	// preparing: the prerequisites are being read.
	preparing phase = iota
	// executing: the engine decides, and its actions are in flight. The status is
	// written from time to time, and when the engine has come to an end.
	executing
	// publishing: nothing is left to do but to write that the graph is stalled or
	// suspended.
	publishing
	// finalizing: the graph's objects are gone, and the finalizer is being removed.
	finalizing
	// ending: nothing is requested any more. Requests in flight are awaited.
	ending
	// confirming: the API server is asked whether the graph is gone.
	confirming
)

// host is the driver of a run, as the run sees it.
type host interface {
	share.Graph
	// post makes the worker call a function in the next step.
	post(func())
	// setAccount sets the service account that the graph is executed as, and the cluster
	// of its objects, nil for that of the graph; serviceAccount returns the account.
	setAccount(share.Account, *destination)
	// watchSecret makes another run begin when the kubeconfig in a Secret changes.
	watchSecret(*kubeConfigSecret)
	// clusterShare returns what graphs share in the cluster of the objects.
	clusterShare() *share.Share
	// home returns the client of the account in the cluster of the graph, nil if the
	// objects are there, too.
	home() *cluster.Client
	serviceAccount() share.Account
	// subscribe makes the driver receive observations of the targets. It returns
	// true if the engine has to read objects again, because events were missed.
	subscribe(*cluster.Client, []engine.Target) bool

	// version returns the newest known resource version of the graph.
	version() string
	// graphRead and graphWritten report a newer one. A graph that was read has
	// the finalizer.
	graphRead(version string)
	graphWritten(version string)

	// resuming reports whether the graph was there when the process started, and no run
	// has read its prerequisites before.
	resuming() bool

	// damper returns what limits writes while the graph stays the same and users don't
	// ask for a reconciliation.
	damper() *engine.Damper
	// departures returns when objects left the graph, as far as this process knows.
	departures() *engine.Departures
	// setUnrecorded notes that a graph is executed for the first time, so that it has
	// no inventory, and unrecordedGraph reports whether that was noted. It also returns
	// the objects that earlier runs may have created. An empty UID notes that the
	// inventory was recorded.
	setUnrecorded(types.UID)
	unrecordedGraph(types.UID) ([]inventory.Entry, bool)

	// progressed reports a success, which resets the backoff.
	progressed()
	// timedOut reports that a request timed out, and hurried reports whether one
	// did so recently.
	timedOut()
	hurried() bool
	// forbidden has the graph tried again when rights change, if the error is that of a request
	// that is forbidden. Any other one, and nil, ends that.
	forbidden(error)
	// retryDelay records an error that may be transient, and returns how long to wait.
	retryDelay(error) time.Duration
	// waitForResync returns when a graph that failed for good is tried again, and
	// whether that is now. If something is awaited, the first tries come sooner, and a
	// graph that awaits that its account is deleted is tried again then.
	waitForResync(now time.Time, awaits accountEvent) (at time.Time, due bool)
	// nextTry returns the longest time until that try.
	nextTry(awaits accountEvent) time.Duration
	// restart makes another run begin after this one, even for the same goal. It
	// reads the graph and its objects again.
	restart()

	// The rest report how a run ended. All but finalized and failed drop it at once.
	// nextPrune is when the graph has to be executed again to prune an object, zero
	// for never.
	completed(s *engine.Snapshot, nextPrune time.Time)
	suspended()
	stalled(awaits accountEvent)
	finalized()
	failed(goal, error)
}

func newRun(s *services, h host, o *objects, g goal, requested string, now time.Time) *run {
	r := &run{services: s, host: h, objects: o, goal: g, requested: requested, began: now}
	r.requests = requests{share: s.share, graph: h, epoch: g.epoch, post: h.post, panicked: r.fail}
	r.report = &reporter{events: s.events, metrics: s.Metrics, owner: h.Owner(), took: map[string]time.Duration{}}
	return r
}

// deleting reports whether the graph's objects are deleted or orphaned.
func (r *run) deleting() bool {
	return r.goal.verb == verbDelete || r.goal.verb == verbOrphan || r.goal.verb == verbClean
}

// end makes the run request nothing any more.
func (r *run) end() { r.phase = ending }

// ended reports whether the run requests nothing any more.
func (r *run) ended() bool { return r.phase == ending }

// busy reports whether requests are in flight.
func (r *run) busy() bool { return r.requests.inFlight > 0 }

// advance does what can be done now. It returns when to call it again if nothing
// happens before, and whether the graph can't be executed at the moment.
func (r *run) advance(now time.Time) (wake time.Time, failed bool) {
	switch r.phase {
	case preparing:
		if r.busy() {
			return time.Time{}, false
		}
		if !r.buildEngine() {
			return time.Time{}, false // the driver counts a graph that stalls
		}
		r.phase = executing
	case executing:
	default: // the answer to the request in flight continues
		return time.Time{}, false
	}
	// Changes are reported before actions are started, so that metrics and Events
	// keep the order of what happened.
	s := r.engine.Step(now)
	r.phaseAfterRecord = s.PhaseAfterRecord
	rereads := false
	if len(s.Changes) > 0 {
		r.status.outdate()
		r.report.changes(s.Changes, func() string { return r.engine.Inventory().Revision }, now)
		rereads = r.subscribe()
	}
	for i := range s.Actions {
		r.start(&s.Actions[i])
	}
	if rereads {
		return now, false // the phase isn't final
	}
	if !r.busy() && (s.Phase == engine.Completed || s.Phase == engine.Stuck) {
		wake, failed = r.finish(s.Phase, now)
		return earliest(wake, r.engine.NextPrune()), failed
	}
	return earliest(s.Wake, r.publish(now)), false
}

// explainInterval is how often the cause is looked up why an object isn't ready.
const explainInterval = 10 * time.Second

// buildEngine builds the engine once the prerequisites are there. It returns
// false if the graph can't be executed, which is then being published.
func (r *run) buildEngine() bool {
	options := engine.Options{
		Prune: true, AllowEmpty: true, ExplainInterval: explainInterval, Backoff: backoff,
		// The finalizer shows that the graph was executed.
		NeverApplied: r.past == neverApplied, IntentImplied: leavesRoom(r.graph), Applied: r.past == inventoryLost,
		Namespaced: scopes(r.executor.Client.Kinds()), Orphan: r.goal.verb == verbOrphan,
		ReadTrust: r.ReadTrust, PruneGrace: r.PruneGrace, Departures: r.host.departures(), Wall: r.Wall, Damper: r.host.damper(),
	}
	if r.graph.Labels[v1alpha1.LabelOperator] != "" {
		// The graph is written by pequod-manager, and its developer edits the instance.
		instance := r.graph.Spec.SourceRef
		options.AdoptHint = fmt.Sprintf("set the annotation %s: \"true\" on %s %s to take it over", v1alpha1.AnnotationAdopt, instance.Kind, instance.Name)
	}
	if r.Shards != nil {
		options.Bucket = shards.Bucket(r.graph.UID)
	}
	options.HandsOver = func(key inventory.Key, owner inventory.Owner) bool {
		return r.host.clusterShare().Leaves(r.host, key, owner)
	}
	if r.graph.Spec.DriftPolicy == v1alpha1.DriftReport {
		options.Drift = engine.ReportDriftedFields
	}
	if r.deleting() {
		options.Managers = engine.Managers(r.graph)
		r.engine = engine.NewDelete(r.inventory, options)
	} else {
		if message := r.report.violations(); message != "" {
			r.stall(reasonPolicyViolation, message)
			return false
		}
		e, err := engine.New(r.graph, r.inventory, options)
		if err != nil {
			r.stall(invalidReason(err))
			return false
		}
		if message := r.crossNamespace(e); message != "" {
			r.stall(reasonCrossNamespace, message)
			return false
		}
		r.engine = e
		r.Metrics.Declare(r.graph)
	}
	r.objects.attach(r.engine, !r.deleting())
	r.subscribe()
	if !r.deleting() {
		r.claim()
	}
	r.objects.replay()
	return true
}

// maxImplied is the size of the largest graph, in bytes, whose first objects are
// applied before its inventory is stored. The API server stores 1.5 MiB of a graph with
// its status.
const maxImplied = 1 << 20

// leavesRoom reports whether a graph is small enough for its inventory and the states of
// its nodes to be stored beside it.
func leavesRoom(rg *v1alpha1.ResourceGraph) bool {
	const perNode = 1 << 10 // of status, and of a node without its resource
	size := 0
	for i := range rg.Spec.Graph.Nodes {
		size += perNode
		if resource := rg.Spec.Graph.Nodes[i].Resource; resource != nil {
			size += len(resource.Raw)
		}
	}
	return size <= maxImplied
}

// crossNamespace returns an error message about an object in another namespace
// than the graph's if Options.NoCrossNamespace forbids that.
func (r *run) crossNamespace(e *engine.Engine) string {
	if !r.NoCrossNamespace {
		return ""
	}
	for _, s := range e.Statuses() {
		if s.ID != "" && s.Key.Namespace != r.host.Owner().Namespace {
			return "node " + s.ID + ": " + outside(s.Key)
		}
	}
	return ""
}

// outside returns the error message about an object outside its graph's namespace.
func outside(key inventory.Key) string {
	if key.Namespace == "" {
		return key.String() + " is cluster-scoped, which the applier doesn't allow (--no-cross-namespace)"
	}
	return key.String() + " is in another namespace than its graph, which the applier doesn't allow (--no-cross-namespace)"
}

// subscribe makes the engine observe its objects. It is called before they are
// read for the first time, so that nothing that happens to them is missed, and
// again when the objects or the rights to watch them may have changed. It returns
// true if the engine has to read objects again. Other graphs learn which objects
// leave this one.
func (r *run) subscribe() bool {
	r.host.clusterShare().SetLeaving(r.host, r.engine.Leaving())
	return r.host.subscribe(r.executor.Client, r.engine.Tracked())
}

// claim makes other graphs hand over the objects that leave them and that this graph
// lists.
func (r *run) claim() {
	targets := r.engine.Tracked()
	keys := make([]inventory.Key, len(targets))
	for i, t := range targets {
		keys[i] = t.Key
	}
	r.host.clusterShare().Claim(r.host, keys)
}

// base returns what a new status starts from.
func (r *run) base() status.Base {
	return status.Base{Graph: r.graph, Stored: &r.status.stored, Requested: r.requested}
}
