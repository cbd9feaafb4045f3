package transform

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// Recorder counts what happens to Transforms. Its methods may be called concurrently.
type Recorder interface {
	// Reconciled records a reconciliation: "success", or "error" if a request failed, or a step
	// that is not one to wait for.
	Reconciled(result string, took time.Duration)
	// ReconcileFailed records why a reconciliation failed, or what a step is blocked by.
	ReconcileFailed(reason string)
	// Observed records the status of a Transform. It is nil if there is none any more.
	Observed(transform types.NamespacedName, status *v1alpha1.TransformStatus)
}

// noMetrics is a Recorder that counts nothing.
type noMetrics struct{}

func (noMetrics) Reconciled(string, time.Duration)                         {}
func (noMetrics) ReconcileFailed(string)                                   {}
func (noMetrics) Observed(types.NamespacedName, *v1alpha1.TransformStatus) {}

// counted counts the reconciliations of a reconciler.
type counted struct{ *reconciler }

// Reconcile implements [reconcile.Reconciler].
func (c counted) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	began, outcome := c.Now(), "success"
	result, failed, err := c.reconcile(ctx, req)
	if err != nil {
		c.Metrics.ReconcileFailed(string(apierrors.ReasonForError(err)))
	}
	if err != nil || failed {
		outcome = "error"
	}
	c.Metrics.Reconciled(outcome, c.Now().Sub(began))
	return result, err
}
