package engine

import (
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/applier/resolve"
	"github.com/pequod-io/pequod/inventory"
)

// Engine executes one graph. It is not safe for concurrent use.
type Engine struct {
	// The configuration doesn't change.
	owner    inventory.Owner
	opts     Options
	revision string       // hash of the graph
	graph    *graph.Graph // nil in ModeDelete, like resolver
	resolver *resolve.Resolver
	adoption adoption

	nodes    nodeIndex // what the graph wants
	cache    cache     // what was observed
	ledger   ledger    // what is recorded
	removals removals  // what is planned for objects that left the graph
	step     stepState // what the current step requests

	survey       survey
	explanations explanations
	sliceBegan   time.Time // of the evaluations of expressions
	// inFlight counts the actions that weren't answered yet.
	inFlight int
	applying int // the part of inFlight that are Apply actions
	// fatal is the error that stopped the engine, nil while it runs.
	fatal error
}

// nodeIndex finds the nodes of the graph.
type nodeIndex struct {
	all     []*node // in the order of the graph
	ordered []*node // in apply order: each after the nodes that it depends on
	byKey   map[inventory.Key]*node
	byID    map[string]*node
	// unscoped are the kinds of nodes whose scope isn't known. These nodes aren't in
	// byKey.
	unscoped []*unscopedKind
	// managers are the field managers of all nodes.
	managers map[string]bool
}

// adoption is spec.adopt of the graph.
type adoption struct {
	// selector matches objects that may be adopted. Nil matches none.
	selector labels.Selector
	// mirror is set if objects that may be adopted are only read.
	mirror bool
}

// cache holds the newest observations.
type cache struct {
	// objects has no entry for an object about which nothing is known. Such an
	// object is read when it is needed.
	objects map[inventory.Key]*observation
	// listed has the resourceVersion of the newest list per location. An object
	// that an older event reports may have been deleted before the list.
	listed     map[location]string
	tombstones tombstones
	// polls has the state of polls per watch. It is nil if the engine doesn't poll.
	polls map[watched]*polls
	// vouched is when the graph's account last got an object, see Options.ReadTrust.
	vouched map[inventory.Key]time.Time
	// bytes is the size of the objects that observations keep.
	bytes int
}

// survey is the state of the one Survey that a run begins with.
type survey struct {
	retryState
	done   bool
	search search
}

// explanations counts the Explain actions per interval.
type explanations struct {
	began time.Time // of the interval
	count int
	// readied is when a node that was waited for became ready last.
	readied time.Time
}

// stepState is the state of one [Engine.Step]. It is reset by the next one. The
// methods between two steps use its time.
type stepState struct {
	now     time.Time
	actions []Action
	// wake is the time of the next step, zero if none is scheduled.
	wake time.Time
	// writeDeferred is set if a write waits until the intent is recorded.
	writeDeferred bool
	// polling are the watches whose objects the step polls.
	polling map[*polls]bool
	// kept are the UIDs of the nodes' objects, nil until they are needed.
	kept map[types.UID]bool
	// unexplained are nodes that aren't ready and whose cause is due for a lookup.
	unexplained []*node
}

// Owner returns the name of the graph.
func (e *Engine) Owner() inventory.Owner { return e.owner }

// Err returns the error that stopped the engine for good, nil if none did.
func (e *Engine) Err() error { return e.fatal }

// wakeAt schedules the next step for t or earlier.
func (e *Engine) wakeAt(t time.Time) {
	if e.step.wake.IsZero() || t.Before(e.step.wake) {
		e.step.wake = t
	}
}

// backingOff reports whether a failed action must not be retried yet, and
// schedules a step for the time of the retry.
func (e *Engine) backingOff(s *retryState) bool {
	if s.failure == nil || !e.step.now.Before(s.retryAt) {
		return false
	}
	e.wakeAt(s.retryAt)
	return true
}

// request adds an action on an object.
func (e *Engine) request(a Action) {
	a.before, a.listed = e.cache.objects[a.Key], e.cache.listed[locationOf(a.Key)]
	if n := e.nodes.byKey[a.Key]; n != nil {
		a.unverified = n.progress.unverified
	}
	if a.Verb == Apply {
		e.applying++
	}
	e.step.actions = append(e.step.actions, a)
}

// requestWrite adds an action that changes the cluster, unless the intent has to
// be recorded first. It reports whether the action was added.
func (e *Engine) requestWrite(a Action) bool {
	if e.opts.Mode == ModeStatus {
		return false
	}
	if !e.ledger.intentSaved {
		e.step.writeDeferred = true
		return false
	}
	e.request(a)
	return true
}

// search is the state of the searches that follow the Survey.
type search struct {
	inFlight bool
	// tries counts the searches.
	tries int
	// retryAt is the earliest time of the next one.
	retryAt time.Time
	// missed are the groups that the last one couldn't read.
	missed []Unsearched
	// unproven are objects that others applied with the graph's labels.
	unproven []inventory.Key
}
