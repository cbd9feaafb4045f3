package transform

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/reconciling"
)

// Recorder counts what happens to Transforms. A step that has to wait is no failure of a reconciliation.
type Recorder interface {
	reconciling.Recorder
	// Observed records the status of a Transform. It is nil if there is none any more.
	Observed(transform types.NamespacedName, status *v1alpha1.TransformStatus)
}

// noMetrics is a Recorder that counts nothing.
type noMetrics struct{ reconciling.NoMetrics }

func (noMetrics) Observed(types.NamespacedName, *v1alpha1.TransformStatus) {}
