// Package reconciling has what the reconcilers of different programs have in common.
//
//   - [Options] returns the options of a controller.
//   - [Written] and [Again] repeat a reconciliation after a conflict.
//   - [Count] counts reconciliations with a [Recorder].
package reconciling

import (
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Options returns the options of a controller. After an error it tries again in first, and then in twice
// the time after each further error, up to last.
func Options(r reconcile.Reconciler, concurrent int, first, last time.Duration) controller.Options {
	return controller.Options{
		Reconciler: r, MaxConcurrentReconciles: concurrent, SkipNameValidation: new(true),
		RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](first, last),
	}
}

// ConflictPause is the time before a repetition because of a conflict: by then, the cache shows what
// others have written.
const ConflictPause = 100 * time.Millisecond

// Again returns the result for an error. A conflict is no error: the reconciliation is repeated.
func Again(err error) (reconcile.Result, error) {
	if apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: ConflictPause}, nil
	}
	return reconcile.Result{}, err
}

// Written returns the result after a write, or [Again] if it failed. It is no error if the object was deleted.
func Written(result reconcile.Result, err error) (reconcile.Result, error) {
	if err != nil {
		return Again(client.IgnoreNotFound(err))
	}
	return result, nil
}

// Recorder counts reconciliations. Its methods may be called concurrently.
type Recorder interface {
	// Reconciled records a reconciliation: "success", or "error" if a request failed or the object has
	// a failure.
	Reconciled(result string, took time.Duration)
	// ReconcileFailed records why a reconciliation failed.
	ReconcileFailed(reason string)
}

// NoMetrics is a [Recorder] that counts nothing.
type NoMetrics struct{}

// Reconciled does nothing.
func (NoMetrics) Reconciled(string, time.Duration) {}

// ReconcileFailed does nothing.
func (NoMetrics) ReconcileFailed(string) {}

// Count records a reconciliation. failed is set if the object has a failure, and err if a request failed.
func Count(to Recorder, took time.Duration, failed bool, err error) {
	outcome := "success"
	if err != nil || failed {
		outcome = "error"
	}
	if err != nil {
		to.ReconcileFailed(string(apierrors.ReasonForError(err)))
	}
	to.Reconciled(outcome, took)
}
