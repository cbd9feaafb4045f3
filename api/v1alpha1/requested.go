package v1alpha1

import (
	"cmp"
	"time"
)

// RequestedAt returns the value of the annotation that requests a reconciliation of an object, or
// "". If there are both that of Pequod and that of Flux, the later time counts, and that of Pequod
// if the values aren't both times.
func RequestedAt(annotations map[string]string) string {
	own, flux := annotations[AnnotationReconcileRequestedAt], annotations[AnnotationFluxRequestedAt]
	if own != "" && flux != "" {
		ownAt, err := time.Parse(time.RFC3339Nano, own)
		fluxAt, fluxErr := time.Parse(time.RFC3339Nano, flux)
		if err == nil && fluxErr == nil && fluxAt.After(ownAt) {
			return flux
		}
	}
	return cmp.Or(own, flux)
}
