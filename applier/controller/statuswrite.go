package controller

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/controller/graphs"
	"github.com/pequod-io/pequod/applier/controller/status"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
	"github.com/pequod-io/pequod/inventory/stored"
)

// writeInterval is the time between two writes of the status of a run in progress.
const writeInterval = 5 * time.Second

// statusWriter is the state of the writes of a run's status. There is at most
// one write in flight.
type statusWriter struct {
	stored    v1alpha1.ResourceGraphStatus // as it is known to be stored
	state     writeState
	writtenAt time.Time // the end of the last write
}

// writeState tells what the status in the cluster lacks.
type writeState int

const (
	upToDate        writeState = iota // the stored status has all changes of nodes
	outdated                          // nodes changed since the status was stored
	writing                           // a write is in flight that has all changes
	writingOutdated                   // a write is in flight, and nodes changed since
)

// outdate records that nodes changed.
func (w *statusWriter) outdate() {
	switch w.state {
	case upToDate:
		w.state = outdated
	case writing:
		w.state = writingOutdated
	}
}

// begin records that a write is in flight that has all changes.
func (w *statusWriter) begin() { w.state = writing }

// end records that the write in flight has ended.
func (w *statusWriter) end(now time.Time) {
	w.writtenAt = now
	if w.state == writingOutdated {
		w.state = outdated
	} else {
		w.state = upToDate
	}
}

func (w *statusWriter) inFlight() bool { return w.state == writing || w.state == writingOutdated }

// due returns when an outdated status should be written. The first write of a run comes no earlier
// than first after its begin.
func (w *statusWriter) due(runBegan time.Time, first time.Duration) time.Time {
	due := runBegan.Add(first)
	if next := w.writtenAt.Add(writeInterval); !w.writtenAt.IsZero() && next.After(due) {
		return next
	}
	return due
}

// publish writes the status of a run that takes long. It returns when to call it
// again, zero if there is nothing to write.
func (r *run) publish(now time.Time) time.Time {
	if r.status.state != outdated || r.record != nil || r.goal.verb == verbClean {
		return time.Time{}
	}
	first := firstWriteAfter
	if r.triesAgain() {
		first = firstWriteOfRetryAfter
	}
	due := r.status.due(r.began, first)
	if now.Before(due) {
		return due
	}
	if now.Before(due.Add(yieldFor)) && (r.share.Crowded() || r.share.CrowdedFor(r.host) || !r.progress.allows(now)) {
		return now.Add(firstWriteAfter)
	}
	if r.engine.RecordIntent() {
		return now // the next step writes the status and the inventory
	}
	r.status.state = upToDate
	// The engine decides when the inventory is recorded, so it is left as it is.
	next := r.compose(engine.Executing, nil, now)
	if !graphs.SameStatus(&r.status.stored, next) {
		r.write(next, nil, func(err error) {
			// Any other error passes, or a later write fails, too.
			if errors.Is(err, graphs.ErrSuperseded) {
				r.failWrite(err)
			}
		})
	}
	return time.Time{}
}

// triesAgain reports whether the run tries a stalled graph again that hasn't changed, and has
// written or deleted no object so far. It most likely fails as before.
func (r *run) triesAgain() bool {
	stored := &r.status.stored
	return !r.changed && stored.ObservedGeneration == r.goal.generation && meta.IsStatusConditionTrue(stored.Conditions, v1alpha1.ConditionStalled)
}

// recordConditions counts the graph by the conditions in its stored status.
func (r *run) recordConditions() {
	r.Metrics.Conditions(r.host.Owner().Namespace, r.host.Owner().Name, r.status.stored.Conditions)
}

// logReady logs a change of the condition Ready in the stored status. Messages that change with the
// progress of nodes are no change.
func (r *run) logReady(before, now []metav1.Condition) {
	was, is := meta.FindStatusCondition(before, v1alpha1.ConditionReady), meta.FindStatusCondition(now, v1alpha1.ConditionReady)
	if is == nil || was != nil && was.Status == is.Status && was.Reason == is.Reason {
		return
	}
	owner := r.host.Owner()
	r.log.Info("the condition Ready of a graph has changed",
		"namespace", owner.Namespace, "name", owner.Name, "status", is.Status, "reason", is.Reason, "message", is.Message)
}

// compose returns the status of the run in a phase. Owned is nil if the
// inventory in the status stays as it is.
func (r *run) compose(phase engine.Phase, owned *inventory.Inventory, now time.Time) *v1alpha1.ResourceGraphStatus {
	next := status.Run{
		Base: r.base(), Deleting: r.deleting(), Phase: phase, Nodes: r.engine.Statuses(), Outputs: r.engine.Outputs, Revision: r.revision,
		Unsearched: r.engine.Unsearched(), Err: r.engine.SharedError(),
	}
	if phase == engine.Stuck {
		next.Advice = r.advice(r.awaited())
	}
	if owned != nil {
		next.Inventory = stored.View(owned)
	}
	return next.Status()
}

// writeRecord carries out the action in r.record, together with the rest of the
// status, as soon as no other write is in flight.
func (r *run) writeRecord() {
	a := r.record
	if a == nil || r.status.inFlight() {
		return
	}
	r.record = nil
	phase, now := r.phaseAfterRecord, r.now()
	if phase == engine.Completed && len(a.Inventory.Entries) == 0 && r.deleting() || r.goal.verb == verbClean {
		// The graph is about to be deleted, and the inventory with it, or doesn't exist.
		r.requests.answer(func() { r.recorded(a, nil) })
		return
	}
	if phase == engine.Completed || phase == engine.Stuck {
		r.conclude(phase, now)
	}
	r.write(r.compose(phase, a.Inventory, now), a.Inventory, func(err error) {
		r.requests.inFlight-- // of the action; write counts its own request
		r.recorded(a, err)
	})
}

func (r *run) recorded(a *engine.Action, err error) {
	r.host.forbidden(err)
	if err == nil {
		r.host.setUnrecorded("")
	}
	r.engine.Done(*a, engine.Outcome{Saved: a.Inventory, Err: recordFailure(err)})
	if err != nil {
		r.status.outdate() // the status tells the error
	}
	// The engine retries after any other error.
	if reason, _ := unwritable(err); reason != "" || errors.Is(err, graphs.ErrSuperseded) || apierrors.IsNotFound(err) {
		r.failWrite(err)
	}
}

// recordFailure returns the failure to write an inventory. Without the rights to do
// so, it is retried seldom: unlike other failures, it isn't expected to pass soon.
func recordFailure(err error) error {
	if apierrors.IsForbidden(err) {
		return &engine.Failure{Reason: engine.ReasonForbidden, Message: err.Error()}
	}
	return err
}

// write writes the status and calls then with the result. If owned isn't nil, it
// is the inventory in next, and its ConfigMaps are written, too.
func (r *run) write(next *v1alpha1.ResourceGraphStatus, owned *inventory.Inventory, then func(error)) {
	r.status.begin()
	from, known := r.status.stored, r.host.version()
	r.requests.start(func(ctx context.Context) func() {
		var version string
		writeStatus := func() (err error) {
			version, err = r.graphs.WriteStatus(ctx, r.graph, known, &from, next)
			return err
		}
		var err error
		if owned != nil {
			err = r.inventories.SaveWith(ctx, owned, writeStatus)
		} else {
			err = writeStatus()
		}
		return func() {
			r.status.end(r.now())
			if err == nil {
				r.logReady(from.Conditions, next.Conditions)
				r.status.stored = *next
				r.recordConditions()
				r.host.graphWritten(version)
			}
			then(err)
			r.writeRecord()
		}
	})
}
