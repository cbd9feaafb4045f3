package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/controller/graphs"
	"github.com/pequod-io/pequod/applier/controller/status"
	"github.com/pequod-io/pequod/applier/engine"
)

// finish writes how the engine ended, and ends the run when that is written. It
// returns what advance returns. The engine may continue until then: if an object
// changes meanwhile, finish is called again later.
func (r *run) finish(phase engine.Phase, now time.Time) (wake time.Time, failed bool) {
	if r.goal.verb == verbClean {
		r.end()
		return time.Time{}, false
	}
	if r.deleting() && phase == engine.Completed {
		if now.Before(r.retryAt) {
			return r.retryAt, true
		}
		r.finalize()
		return time.Time{}, false
	}
	r.conclude(phase, now)
	owned := r.engine.Inventory()
	r.Metrics.Managed(r.host.Owner().Namespace, r.host.Owner().Name, owned.Entries)
	if next := r.compose(phase, owned, now); !graphs.SameStatus(&r.status.stored, next) {
		r.write(next, nil, func(err error) {
			if err != nil {
				r.failWrite(err)
			}
		})
		return time.Time{}, false
	}
	if phase == engine.Completed {
		if !r.report.completedBefore(owned.Revision) {
			r.progress.completed.Store(&now)
		}
		r.end()
		r.host.completed(r.engine.Snapshot(), r.engine.NextPrune())
		return time.Time{}, false
	}
	// The run stays, because observations may help the engine, and is restarted
	// from time to time, because some changes can't be observed. When a namespace is
	// deleted, the account may lose its rights before it is deleted itself, and only
	// then can the graph be deleted.
	at, due := r.host.waitForResync(now, r.awaited())
	if due {
		r.end()
	}
	return at, true
}

// awaited returns the event that ends the failure of the engine.
func (r *run) awaited() accountEvent {
	forbidden := slices.ContainsFunc(r.engine.Statuses(), func(s engine.Status) bool { return s.Reason == engine.ReasonForbidden })
	switch {
	case r.deleting() && forbidden:
		return accountDeleted
	case r.deleting():
		return objectsDeletable
	case forbidden:
		return rightsGranted
	}
	return noAccountEvent
}

// conclude records how an execution ended, for the history and the metrics. It
// does so once per result, though finish may be called several times.
func (r *run) conclude(phase engine.Phase, now time.Time) {
	result := v1alpha1.GraphCompleted
	if phase == engine.Stuck {
		result = v1alpha1.GraphFailed
	}
	if r.revision != nil && r.revision.Result == result || r.deleting() {
		return
	}
	waves, nodes := 0, 0
	for _, s := range r.engine.Statuses() {
		if s.ID != "" {
			nodes, waves = nodes+1, max(waves, s.Wave+1)
		}
	}
	took, hash := now.Sub(r.began), r.engine.Inventory().Revision
	created, updated, deleted := r.report.takeEffects()
	r.revision = &v1alpha1.Revision{
		Revision: r.graph.Generation, Hash: hash, Reason: r.report.cause.Reason(r.report.completedBefore(hash)),
		Result: result, StartedAt: v1alpha1.NewMilliTime(r.began), FinishedAt: metav1.NewTime(now),
		Nodes: nodes, Created: created, Updated: updated, Deleted: deleted, Duration: took.Round(time.Millisecond).String(),
	}
	r.Metrics.Executed(r.host.Owner().Namespace, r.host.Owner().Name, string(result), took, nodes, waves)
}

// stall ends a run that can't continue until the graph or the cluster is
// changed. It writes the reason into the status.
func (r *run) stall(reason, message string) {
	r.Metrics.ReconcileFailed(r.host.Owner().Namespace, r.host.Owner().Name, reason)
	base, awaits := r.base(), awaitedBy(reason)
	// A graph that is tried again and is as it was gets no second Event.
	if !sameStall(&r.status.stored, status.Stalled(base, reason, message)) {
		r.report.stalled(reason, message)
	}
	base.Advice = r.advice(awaits)
	r.publishLast(status.Stalled(base, reason, message), func() {
		r.host.stalled(awaits)
	})
}

// advice returns what ends the message of a graph that failed for good: how to bring
// about what it awaits, and when it is tried again. The text doesn't change with each try,
// so that a graph which fails as before causes no writes.
func (r *run) advice(awaits accountEvent) string {
	if awaits == noAccountEvent {
		return ""
	}
	next := "the next try is within " + duration.HumanDuration(r.host.nextTry(awaits))
	graph, account := r.host.Owner(), r.host.serviceAccount()
	switch {
	case r.Operator != nil: // the account and its rights are the platform's
	case awaits == accountCreated:
		return fmt.Sprintf("create it with 'kubectl create serviceaccount %s -n %s'; %s", account.Name, account.Namespace, next)
	case awaits == rightsGranted, awaits == accountDeleted:
		return fmt.Sprintf("grant the rights that 'kubectl get resourcegraph %s -n %s -o yaml | pequod rbac generate -f -' prints; %s",
			graph.Name, graph.Namespace, next)
	}
	return next
}

// sameStall reports whether two statuses are stalled for the same reason. The first one
// may also have an advice.
func sameStall(a, b *v1alpha1.ResourceGraphStatus) bool {
	x, y := meta.FindStatusCondition(a.Conditions, v1alpha1.ConditionStalled), meta.FindStatusCondition(b.Conditions, v1alpha1.ConditionStalled)
	return x != nil && y != nil && x.Reason == y.Reason && strings.HasPrefix(x.Message, y.Message)
}

// suspend ends the run of a graph that is suspended or paused.
func (r *run) suspend() {
	r.publishLast(status.Suspended(r.base()), r.host.suspended)
}

// publishLast writes the last status of the run, unless it is stored already,
// and then ends the run.
func (r *run) publishLast(next *v1alpha1.ResourceGraphStatus, then func()) {
	r.phase = publishing
	if graphs.SameStatus(&r.status.stored, next) {
		r.end()
		then()
		return
	}
	r.write(next, nil, func(err error) {
		if err != nil {
			r.failWrite(err)
			return
		}
		r.end()
		then()
	})
}

// orphan lets a graph be deleted without touching its objects, which keep their
// labels: its account doesn't exist any more, and with it all rights to them, or
// the definition of ResourceGraphs is being deleted.
func (r *run) orphan(message string) {
	if in := r.graph.Status.Inventory; in != nil && in.Count > 0 {
		r.report.orphaned(message, in.Count)
	}
	r.inventory = nil
	r.finalize()
}

// finalize removes the ConfigMaps of the inventory, if there are any, and then
// the finalizer of a graph whose objects are gone.
func (r *run) finalize() {
	r.phase = finalizing
	owned := r.inventory
	if r.engine != nil {
		owned = r.engine.Inventory()
	}
	r.requests.start(func(ctx context.Context) func() {
		var err error
		if owned != nil && !r.terminating {
			err = r.inventories.RemoveConfigMaps(ctx, owned)
		}
		if err == nil {
			err = r.graphs.RemoveFinalizer(ctx, r.graph)
		}
		return func() { r.finalized(err) }
	})
}

// finalized handles the result of finalize. If the engine is used, the rest of
// the deletion isn't repeated after a failure.
func (r *run) finalized(err error) {
	switch {
	case err == nil || apierrors.IsNotFound(err):
		r.end()
		r.host.finalized()
	case r.engine == nil:
		r.fail(err)
	case !r.ended():
		// Everything else is done, so that only this has to be retried.
		r.phase = executing
		r.retryAt = r.now().Add(r.host.retryDelay(err))
	}
}
