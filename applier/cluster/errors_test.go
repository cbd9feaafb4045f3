package cluster

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/applier/engine"
)

// Only what the validation of the kind says makes an object immutable. Admission
// plugins choose their words and status codes freely.
func TestClassifyImmutable(t *testing.T) {
	t.Parallel()
	invalid := func(message string, causes ...metav1.StatusCause) *apierrors.StatusError {
		return &apierrors.StatusError{ErrStatus: metav1.Status{
			Reason: metav1.StatusReasonInvalid, Code: 422, Message: message, Details: &metav1.StatusDetails{Causes: causes},
		}}
	}
	cause := func(kind metav1.CauseType, field, message string) metav1.StatusCause {
		return metav1.StatusCause{Type: kind, Field: field, Message: message}
	}
	const (
		value  = metav1.CauseTypeFieldValueInvalid
		forbid = metav1.CauseTypeForbidden
	)
	for _, c := range []struct {
		name   string
		err    error
		reason string
	}{
		{"selector", invalid(`Deployment.apps "web" is invalid: …`, cause(value, "spec.selector", `Invalid value: {"matchLabels":{}}: field is immutable`)), engine.ReasonImmutable},
		{"StatefulSet", invalid(`StatefulSet.apps "db" is invalid: …`, cause(forbid, "spec", "Forbidden: updates to statefulset spec for fields other than 'replicas' are forbidden")), engine.ReasonImmutable},
		{"ConfigMap", invalid(`ConfigMap "c" is invalid: …`, cause(forbid, "data", "Forbidden: field is immutable when `immutable` is set")), engine.ReasonImmutable},
		{"transition rule", invalid(`Box.sec.test "b" is invalid: …`, cause(value, "spec.size", `Invalid value: "integer": size cannot be changed`)), engine.ReasonImmutable},
		{"other rule", invalid(`Box.sec.test "b" is invalid: …`, cause(value, "spec.size", `Invalid value: "integer": size must be even`)), engine.ReasonInvalid},
		{"admission plugin", invalid("configmaps \"c\" is forbidden: may not be changed", cause("", "", "may not be changed")), engine.ReasonInvalid},
		{
			"policy", invalid(`configmaps "c" is forbidden: ValidatingAdmissionPolicy 'freeze' with binding 'freeze' denied request: field is immutable`,
				cause("", "", "ValidatingAdmissionPolicy 'freeze' with binding 'freeze' denied request: field is immutable")), engine.ReasonDenied,
		},
		{
			"policy on an object with a colon", invalid(`roles.rbac.authorization.k8s.io "a:b" is forbidden: ValidatingAdmissionPolicy 'p' denied request: exceeded quota`),
			engine.ReasonDenied,
		},
		{"webhook", invalid(`admission webhook "w.example.com" denied the request: field is immutable`, cause(forbid, "data", "field is immutable")), engine.ReasonDenied},
		{"webhook in the words of a quota", invalid(`admission webhook "w.example.com" denied the request: exceeded quota`), engine.ReasonDenied},
	} {
		if got := Classify(c.err); got.Reason != c.reason || got.Immutable != (c.reason == engine.ReasonImmutable) || !got.Terminal {
			t.Errorf("%s: %s, immutable %t, terminal %t; want %s", c.name, got.Reason, got.Immutable, got.Terminal, c.reason)
		}
	}
}

// A Pod may have secret values, which the API server repeats in the difference that it adds. It also
// says the same for each of several fields.
func TestMessageHasNoDifference(t *testing.T) {
	t.Parallel()
	cause := metav1.StatusCause{
		Type: metav1.CauseTypeForbidden, Field: "spec",
		Message: "Forbidden: pod updates may not change fields other than `spec.containers[*].image`\n@@ -1,2 +1,2 @@\n-    \"Value\": \"secret\",\n",
	}
	err := &apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonInvalid, Code: 422, Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{cause, cause}}}}
	if got, want := Classify(err).Message, "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`"; got != want {
		t.Errorf("%q; want %q", got, want)
	}
}
