package controller

import (
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"

	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/controller/graphs"
	"github.com/pequod-io/pequod/applier/controller/share"
)

// services holds the clients and options that all drivers and runs use. It
// doesn't change after Setup, and is safe for concurrent use.
type services struct {
	Options
	own    *cluster.Client // acts as the applier itself
	graphs *graphs.Client
	share  *share.Share
	rights *rights
	// destinations are the clusters of graphs whose objects aren't in their own cluster.
	destinations *destinations
	events       events.EventRecorder
	log          logr.Logger
	// progress limits the writes of the statuses of graphs that are being executed.
	progress *progress
	now      func() time.Time
}

// scopes returns a function that reports the scope of a kind in a cluster, and whether it
// is known.
func scopes(kinds *cluster.Kinds) func(schema.GroupVersionKind) (namespaced, known bool) {
	return func(gvk schema.GroupVersionKind) (namespaced, known bool) {
		if kinds == nil {
			return false, false
		}
		kind, known := kinds.Cached(gvk)
		return kind.Namespaced, known
	}
}

// restartGrace is the rest of a grace period after the applier has started: etcd may have
// been restored from a backup while none was running. It is short, so that appliers which
// are restarted often still prune.
const restartGrace = time.Minute

// graceRest returns the part of a grace period that an object has left from when the
// process learns that it left its graph. After a restore of etcd it is all of it, see
// [engine.Departures].
func (s *services) graceRest() time.Duration {
	if s.share.Epoch() > 0 {
		return s.PruneGrace
	}
	return restartGrace
}
