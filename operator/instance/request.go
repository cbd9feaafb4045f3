package instance

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/source"
)

// maxRequest is the longest value of a request, in bytes. Longer ones are shortened.
const maxRequest = 256

// requestOf returns the value of the annotation that asks for a reconciliation, or "". If an
// instance has both annotations, the later time counts, and the one of Pequod if the values
// aren't both times.
func requestOf(instance *unstructured.Unstructured) string {
	annotations := instance.GetAnnotations()
	own, flux := annotations[v1alpha1.AnnotationReconcileRequestedAt], annotations[v1alpha1.AnnotationFluxRequestedAt]
	if own != "" && flux != "" {
		ownAt, err := time.Parse(time.RFC3339Nano, own)
		fluxAt, fluxErr := time.Parse(time.RFC3339Nano, flux)
		if err == nil && fluxErr == nil && fluxAt.After(ownAt) {
			own = flux
		}
	}
	return source.OneLine(cmp.Or(own, flux), maxRequest)
}
