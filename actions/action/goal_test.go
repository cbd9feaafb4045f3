package action

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// TestRequested checks that a requested value that is too long can be stored: the run would be
// requested again and again if the status had another value.
func TestRequested(t *testing.T) {
	t.Parallel()
	a := &v1alpha1.Action{}
	for value, whole := range map[string]bool{"now": true, strings.Repeat("x", 256): true, strings.Repeat("x", 255) + "é": false} {
		a.Annotations = map[string]string{v1alpha1.AnnotationReconcileRequestedAt: value}
		got := goal(a).Requested
		if !utf8.ValidString(got) || len(got) > 256 || (got == value) != whole {
			t.Errorf("%q becomes %q", value, got)
		}
	}
}
