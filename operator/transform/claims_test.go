package transform

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

// TestClaims checks who is woken when a claim ends. Transforms that can't have a CRD, because it
// is another tool's, must not wake each other: that would never end.
func TestClaims(t *testing.T) {
	a, b, none := types.NamespacedName{Name: "a"}, types.NamespacedName{Name: "b"}, []types.NamespacedName(nil)
	c := newClaims()
	check := func(what string, got, want []types.NamespacedName) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	if c.take("crd", a) != a || c.take("crd", b) != a {
		t.Fatal("the first one isn't the owner")
	}
	check("a gives up: b waits for it", c.release(a, ""), []types.NamespacedName{b})
	c.watch("crd", a)
	if c.take("crd", b) != b {
		t.Fatal("b isn't the owner")
	}
	check("b gives up, too: a can't have it either", c.release(b, ""), none)
	c.watch("crd", b)
	for range 2 { // again, by an event
		if c.take("crd", a) != a {
			t.Fatal("a isn't the owner")
		}
		check("a gives up again", c.release(a, ""), none)
		c.watch("crd", a)
	}
	check("the CRD changes", c.interested("crd"), []types.NamespacedName{b, a})
	c.release(a, "")
	check("a is gone", c.interested("crd"), []types.NamespacedName{b})
}
