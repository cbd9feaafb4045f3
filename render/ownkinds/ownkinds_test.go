package ownkinds

import "testing"

// TestCatalog looks up the kinds of Pequod. Each definition can be read.
func TestCatalog(t *testing.T) {
	t.Parallel()
	c := Catalog()
	for _, kind := range []string{"ResourceGraph", "Transform", "Action"} {
		if _, p := c.Lookup("platform.pequod.io/v1alpha1", kind); p != nil {
			t.Errorf("%s: %s", kind, p.Message)
		}
	}
	if _, p := c.Lookup("platform.pequod.io/v1alpha1", "Reaction"); p == nil {
		t.Error("a kind that doesn't exist is known")
	}
}
