package transform

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Recorder counts what happens to Transforms. Its methods may be called concurrently.
type Recorder interface {
	// Reconciled records a reconciliation: "success", or "error" if a request failed.
	Reconciled(result string, took time.Duration)
	// ReconcileFailed records why a reconciliation failed, or what a step is blocked by.
	ReconcileFailed(reason string)
	// Conditions records the conditions of a Transform, or that there is none any more.
	Conditions(transform types.NamespacedName, conditions []metav1.Condition)
}

// noMetrics is a Recorder that counts nothing.
type noMetrics struct{}

func (noMetrics) Reconciled(string, time.Duration)                    {}
func (noMetrics) ReconcileFailed(string)                              {}
func (noMetrics) Conditions(types.NamespacedName, []metav1.Condition) {}

// counted counts the reconciliations of a reconciler.
type counted struct {
	reconcile.Reconciler
	metrics Recorder
	now     func() time.Time
}

// Reconcile implements [reconcile.Reconciler].
func (c counted) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	began, outcome := c.now(), "success"
	result, err := c.Reconciler.Reconcile(ctx, req)
	if err != nil {
		outcome = "error"
		c.metrics.ReconcileFailed(string(apierrors.ReasonForError(err)))
	}
	c.metrics.Reconciled(outcome, c.now().Sub(began))
	return result, err
}
