package controller

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/applier/controller/graphs"
	"github.com/pequod-io/pequod/applier/controller/status"
)

// A graph can be deleted although the applier has just added its finalizer: the API
// server decides that an object has no finalizers, and then deletes it without looking
// again. What a first run created by then is in no inventory. It is deleted by a run of
// its own, which writes nothing to the graph.
//
// The watch also reports a graph as deleted when its labels stop matching the selector of this
// process. Then the objects belong to a graph that exists, so that run first asks the API server.

// leave ends the run of a graph that doesn't exist any more or, if taken is set, that another
// replica executes. It returns false, and when to call it again if nothing happens before, while
// the run needs time.
func (d *driver) leave(now time.Time, taken bool) (wake time.Time, left bool) {
	if d.run.goal.verb != verbClean {
		d.run.end()
		if d.run.busy() {
			return time.Time{}, false // the answers wake the driver
		}
		var clean *run
		if !taken {
			clean = d.cleaner(now)
		}
		d.dropRun()
		if clean == nil {
			return time.Time{}, true
		}
		d.objects.beginRun(false)
		d.run = clean
	}
	switch {
	case d.run.ended():
	case d.run.phase == confirming:
		wake = d.run.confirm(now)
	default:
		wake, _ = d.run.advance(now)
	}
	if !d.run.ended() || d.run.busy() {
		return wake, false
	}
	d.dropRun()
	return time.Time{}, true
}

// cleaner returns a run that deletes what the current run created, or nil if the current
// run isn't the first one of its graph or created nothing.
func (d *driver) cleaner(now time.Time) *run {
	r := d.run
	if r.goal.verb != verbExecute || r.engine == nil || d.unrecorded.uid != r.goal.uid {
		return nil
	}
	owned := r.engine.Inventory()
	if len(owned.Entries) == 0 {
		return nil
	}
	g := r.goal
	g.verb = verbClean
	clean := newRun(d.services, d, &d.objects, g, "", now)
	clean.phase = confirming
	clean.graph, clean.executor, clean.inventories, clean.inventory = r.graph, r.executor, r.inventories, owned
	clean.report.begin(r.graph, owned, status.Cause{})
	return clean
}

// confirm ends a run that cleans if its graph exists: its labels don't match the selector any
// more. It returns when to call it again if nothing happens before.
func (r *run) confirm(now time.Time) (wake time.Time) {
	switch {
	case r.busy():
		return time.Time{} // the answer wakes the driver
	case now.Before(r.retryAt):
		return r.retryAt
	}
	owner := r.host.Owner()
	r.requests.start(func(ctx context.Context) func() {
		live, err := r.graphs.Get(ctx, types.NamespacedName(owner))
		return func() {
			switch {
			case r.ended():
			case err != nil && !apierrors.IsNotFound(err):
				r.retryAt = r.now().Add(r.host.retryDelay(err))
			case err == nil && live.UID == r.goal.uid && (live.DeletionTimestamp == nil || graphs.HasFinalizer(live)):
				r.end()
			default:
				r.log.Info("deleting the objects of a graph that was deleted during its first execution",
					"namespace", owner.Namespace, "name", owner.Name, "objects", len(r.inventory.Entries))
				r.phase = preparing
			}
		}
	})
	return time.Time{}
}
