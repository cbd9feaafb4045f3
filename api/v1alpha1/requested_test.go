package v1alpha1

import "testing"

func TestRequestedAt(t *testing.T) {
	const early, late = "2026-01-01T10:00:00Z", "2026-01-01T12:00:00+01:00"
	for _, test := range []struct{ own, flux, want string }{
		{"", "", ""},
		{"a", "", "a"},
		{"", "b", "b"},
		{"a", "b", "a"},
		{early, late, late},
		{late, early, late},
		{early, "2026-01-01T10:30:00+01:00", early}, // half past nine in UTC
		{"a", late, "a"},
	} {
		got := RequestedAt(map[string]string{AnnotationReconcileRequestedAt: test.own, AnnotationFluxRequestedAt: test.flux})
		if got != test.want {
			t.Errorf("%q and %q: %q, want %q", test.own, test.flux, got, test.want)
		}
	}
}
