package controller

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory/configmap"
)

// finish writes down how a run ended, and ends it when that is written.
func (r *run) finish(phase engine.Phase, now time.Time) time.Time {
	if r.goal.verb != execute && phase == engine.Completed {
		if now.Before(r.releaseAt) {
			r.d.failing = true
			return r.releaseAt
		}
		r.release(now)
		return time.Time{}
	}
	r.conclude(phase, now)
	r.d.c.Metrics.Managed(r.d.key.Namespace, r.d.key.Name, r.engine.Inventory().Entries)
	if next := r.compose(phase, r.engine.Inventory(), now); !same(&r.status, next) {
		r.write(next, func(err error) {
			if err != nil {
				r.unwritten(err)
			}
		})
		return time.Time{}
	}
	if phase == engine.Stuck {
		return r.wait(now)
	}
	r.close()
	return r.d.idle(now)
}

// wait keeps a run that can't get further: something that it sees may help, or
// something that nobody sees, such as a right that was granted.
func (r *run) wait(now time.Time) time.Time {
	d := r.d
	d.failing = true
	switch {
	case d.again.IsZero() && r.goal.verb == execute:
		d.again = now.Add(d.c.Resync)
	case d.again.IsZero():
		// Rights may go before their account does, as where the namespace goes.
		d.attempts++
		d.again = now.Add(min(backoff.After(d.attempts), d.c.Resync))
	case !now.Before(d.again):
		d.again, r.over = time.Time{}, true
		d.restart()
		d.wake()
		return time.Time{}
	}
	return earliest(d.again, d.poll(now))
}

// conclude notes how an execution ended, once.
func (r *run) conclude(phase engine.Phase, now time.Time) {
	result := v1alpha1.GraphCompleted
	if phase == engine.Stuck {
		result = v1alpha1.GraphFailed
	}
	if r.revision != nil && r.revision.Result == result || r.goal.verb != execute {
		return
	}
	statuses, waves, nodes := r.engine.Statuses(), 0, 0
	for _, s := range statuses {
		if s.ID != "" {
			nodes, waves = nodes+1, max(waves, s.Wave+1)
		}
	}
	took := now.Sub(r.began)
	r.revision = &v1alpha1.Revision{
		Revision: r.graph.Generation, Hash: r.engine.Inventory().Revision, Result: result, FinishedAt: metav1.NewTime(now),
		Nodes: nodes, Applied: r.applied, Pruned: r.pruned, Duration: took.Round(time.Millisecond).String(),
	}
	r.d.c.Metrics.Executed(r.d.key.Namespace, r.d.key.Name, string(result), took, nodes, waves)
}

// close ends a run whose result is written, and remembers what it knew.
func (r *run) close() {
	d := r.d
	d.run, d.graph, d.settled, d.attempts, d.retryAt = nil, nil, r.goal, 0, time.Time{}
	d.rest, d.again = r.engine.Snapshot(), time.Time{}
}

// stall ends a run that can't go on before somebody changes something, and says
// why.
func (r *run) stall(reason, message string, now time.Time) {
	r.stalled, r.d.failing = true, true
	r.d.c.Metrics.ReconcileFailed(r.d.key.Namespace, r.d.key.Name, reason)
	next := r.status.DeepCopy()
	next.Phase = v1alpha1.GraphFailed
	r.observed(next)
	r.conditions(next, metav1.ConditionFalse, reason, message, v1alpha1.ConditionStalled)
	r.writeThen(next, func() {
		d := r.d
		d.run, d.graph, d.settled = nil, nil, r.goal
		d.rest, d.polled = nil, nil
		d.again = time.Time{}
		if reason == reasonAccountMissing {
			d.attempts++
			d.again = d.c.now().Add(min(backoff.After(d.attempts), d.c.Resync))
			d.c.share.SubscribeToAccount(d, d.serviceAccount())
			d.awaiting = true
		} else {
			d.leave() // nobody judges what is seen
		}
		d.wake()
	})
}

// halt says that nothing is done for a graph that is suspended or paused.
func (r *run) halt(now time.Time) {
	next := r.status.DeepCopy()
	if next.ObservedGeneration != r.graph.Generation || meta.FindStatusCondition(next.Conditions, v1alpha1.ConditionReconciling) != nil {
		r.observed(next)
		if ready := meta.FindStatusCondition(next.Conditions, v1alpha1.ConditionReady); ready == nil || ready.Status != metav1.ConditionTrue ||
			next.Inventory == nil || !r.executed() {
			r.conditions(next, metav1.ConditionUnknown, "Suspended", "the graph is suspended; what it says isn't executed", "")
		} else {
			r.conditions(next, ready.Status, ready.Reason, ready.Message, "")
		}
	}
	r.writeThen(next, func() {
		r.d.run, r.d.graph, r.d.settled = nil, nil, r.goal
	})
}

// writeThen writes a status, unless it is the one that is stored, and goes on.
func (r *run) writeThen(next *v1alpha1.ResourceGraphStatus, then func()) {
	if same(&r.status, next) {
		then()
		return
	}
	r.write(next, func(err error) {
		if err != nil {
			r.unwritten(err)
			return
		}
		then()
	})
}

// orphan lets a graph go whose account is gone, and with it every right to touch
// what it owns.
func (r *run) orphan(message string, now time.Time) {
	count := 0
	if in := r.graph.Status.Inventory; in != nil {
		count = in.Count
	}
	if count > 0 {
		r.warn("Orphaned", "Delete", nil, fmt.Sprintf("%s: %d objects are left where they are", message, count))
	}
	r.stored = nil
	r.release(now)
}

// release removes the finalizer of a graph of which nothing is left.
func (r *run) release(now time.Time) {
	inv := r.stored
	if r.engine != nil {
		inv = r.engine.Inventory()
	}
	r.job(func(ctx context.Context) func() {
		var err error
		if inv != nil && inv.Stored != nil {
			err = configmap.NewStore(r.client.REST()).Remove(ctx, inv)
		}
		if err == nil {
			r.graph.ResourceVersion = "" // whatever it is by now
			_, err = r.d.c.release(ctx, r.graph)
		}
		return func() {
			switch {
			case err != nil && !apierrors.IsNotFound(err) && r.engine != nil:
				// Everything else is done: only this is tried again.
				r.releaseAt = r.d.c.now().Add(r.later(err))
			case err != nil && !apierrors.IsNotFound(err):
				r.complain(err, r.d.c.now())
			default:
				r.over = true
				r.d.settled = r.goal
			}
		}
	})
}
