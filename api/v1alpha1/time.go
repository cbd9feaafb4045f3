package v1alpha1

import (
	"cmp"
	"encoding/json"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MilliTime is a time in milliseconds, as RFC 3339. It reads any precision: older versions wrote whole
// seconds.
//
// +kubebuilder:validation:Type=string
// +kubebuilder:validation:Format=date-time
type MilliTime struct {
	// Time isn't embedded: its methods would be methods of MilliTime, and 10 KB of each program.
	Time metav1.Time `json:"-"`
}

// milliFormat is the format of a MilliTime.
const milliFormat = "2006-01-02T15:04:05.000Z07:00"

// NewMilliTime returns a time with the precision that is stored, nil for the zero time.
func NewMilliTime(t time.Time) *MilliTime {
	if t.IsZero() {
		return nil
	}
	return &MilliTime{metav1.NewTime(t.Truncate(time.Millisecond))}
}

// IsZero reports whether there is no time. It accepts nil.
func (t *MilliTime) IsZero() bool { return t == nil || t.Time.IsZero() }

// UTC returns the time in UTC.
func (t *MilliTime) UTC() time.Time { return t.Time.UTC() }

// UnmarshalJSON implements [json.Unmarshaler].
func (t *MilliTime) UnmarshalJSON(data []byte) error { return t.Time.UnmarshalJSON(data) }

// MarshalJSON implements [json.Marshaler].
func (t MilliTime) MarshalJSON() ([]byte, error) {
	if t.IsZero() {
		return []byte("null"), nil
	}
	return json.Marshal(t.UTC().Format(milliFormat))
}

// ToUnstructured returns the value in an unstructured object.
func (t *MilliTime) ToUnstructured() any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format(milliFormat)
}

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
