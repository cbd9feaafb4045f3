package fetch_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/modules/artifact"
	"github.com/pequod-io/pequod/modules/oci"
	"github.com/pequod-io/pequod/operator/fetch"
)

// TestReason checks the reasons of errors, however they are wrapped.
func TestReason(t *testing.T) {
	resource := schema.GroupResource{Resource: "configmaps"}
	for _, test := range []struct {
		err       error
		want      string
		transient bool
		after     time.Duration
	}{
		{&oci.Error{Cause: oci.Unauthorized}, "Unauthorized", false, 0},
		{&oci.Error{Cause: oci.RateLimited, RetryAfter: time.Minute}, "RateLimited", true, time.Minute},
		{&oci.Error{Cause: oci.Unavailable}, "Unavailable", true, 0},
		{&oci.Error{Cause: oci.TLS}, "TLS", false, 0},
		{problem.List{{Rule: problem.RuleSignature}}, fetch.Unsigned, false, 0},
		{problem.List{{Rule: problem.RuleDigest}}, fetch.DigestMismatch, false, 0},
		{problem.List{{Rule: problem.RuleModule}}, fetch.ModuleInvalid, false, 0},
		{&artifact.NotModuleError{}, fetch.WrongType, false, 0},
		{&artifact.LimitError{}, fetch.TooLarge, false, 0},
		{&artifact.TooNewError{}, fetch.ModuleInvalid, false, 0},
		{&fetch.Error{Reason: fetch.NotAllowed}, fetch.NotAllowed, false, 0},
		{context.DeadlineExceeded, fetch.TimedOut, true, 0},
		{apierrors.NewForbidden(resource, "x", nil), fetch.Forbidden, false, 0},
		{apierrors.NewServiceUnavailable("x"), fetch.Unavailable, true, 0},
		{errors.New("x"), fetch.Failed, true, 0},
	} {
		err := fmt.Errorf("a: %w", fmt.Errorf("b: %w", test.err))
		if got := fetch.Reason(err); got != test.want || fetch.Transient(err) != test.transient || fetch.RetryAfter(err) != test.after {
			t.Errorf("%T %v: %s, transient %v, after %v; want %+v", test.err, test.err, got, fetch.Transient(err), fetch.RetryAfter(err), test)
		}
	}
}
