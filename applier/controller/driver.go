package controller

import (
	"time"
	"unique"

	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/controller/share"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
)

// driver executes one graph, in runs. It outlives its runs, and remembers
// between them as little as possible.
//
// Other goroutines use only the inbox and the turn. All other fields belong to the
// worker that steps the driver; the turn makes sure that there is only one at a
// time.
type driver struct {
	*services
	key   types.NamespacedName
	inbox inbox
	turn  turn
	epoch int64 // the part of the cluster's history that the driver knows

	run   *run // nil if nothing has to be done
	graph knownGraph
	// account is the service account, zero if it isn't known. Graphs share it.
	account unique.Handle[share.Account]
	remote
	restarts int // part of the current goal
	retries  retries
	// limits are those of writes for the last request of a user; nil until they are needed.
	limits     *engine.Damper
	leaving    *engine.Departures
	objects    objects
	unrecorded unrecorded
	// awaits isn't noAccountEvent while nothing but an event of the account, for which the
	// driver may be subscribed to it, calls for another run.
	awaits  accountEvent
	settled bool // the last run came to its end, and retries has its goal
	stalls  bool // the graph stalled in this step
	// starting is set until the prerequisites of the first run are read, if the graph was
	// there when the process started.
	starting bool
	// pruneAt is when a completed graph is executed again to prune an object whose
	// grace period ends then, zero for never.
	pruneAt time.Time
}

// remote is the cluster of the objects, and the Secret with its kubeconfig. Both are nil
// if the objects are in the cluster of the graph, and the former also while that cluster
// can't be used.
type remote struct {
	destination *destination
	secret      *kubeConfigSecret
}

// unrecorded is the graph that this process began to execute first, until its
// inventory is recorded. A graph without one has lost it otherwise.
type unrecorded struct {
	uid   types.UID         // empty if the inventory is recorded
	owned []inventory.Entry // objects that a run may have created
}

// knownGraph is the state of a graph as its driver knows it.
type knownGraph struct {
	graph       *v1alpha1.ResourceGraph // nil if it has to be read
	version     string                  // the newest resource version that is known to exist
	noFinalizer bool                    // it was last seen without the finalizer
}

// newDriver returns the driver of a graph. Its inbox needs a wake function before it
// is used.
func newDriver(s *services, key types.NamespacedName) *driver {
	return &driver{services: s, key: key, epoch: s.share.Epoch(), leaving: engine.NewDepartures(s.graceRest())}
}

// wake makes the controller step the driver.
func (d *driver) wake() { d.inbox.wake() }

// Owner implements [share.Graph].
func (d *driver) Owner() inventory.Owner {
	return inventory.Owner{Namespace: d.key.Namespace, Name: d.key.Name}
}
