package transform

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

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
