package effect

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestKinds checks which kinds Receivers may change.
func TestKinds(t *testing.T) {
	t.Parallel()
	kinds, err := ParseKinds([]string{"DatabaseCluster.infra.example.com", " *.shop.example.com"})
	if err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[schema.GroupKind][2]bool{ // reconcile and apply
		{Group: "platform.pequod.io", Kind: "Action"}:                 {true, false},
		{Group: "platform.pequod.io", Kind: "ResourceGraph"}:          {true, false},
		{Group: "platform.pequod.io", Kind: "Receiver"}:               {false, false},
		{Group: "kustomize.toolkit.fluxcd.io", Kind: "Kustomization"}: {true, false},
		{Group: "toolkit.fluxcd.io.example.com", Kind: "X"}:           {false, false},
		{Group: "infra.example.com", Kind: "DatabaseCluster"}:         {true, true},
		{Group: "infra.example.com", Kind: "Other"}:                   {false, false},
		{Group: "shop.example.com", Kind: "Order"}:                    {true, true},
		{Group: "", Kind: "Secret"}:                                   {false, false},
	} {
		if got := [2]bool{kinds.reconciles(kind), kinds.allows(kind)}; got != want {
			t.Errorf("%s: %v", kind, got)
		}
	}
	for _, wrong := range []string{"", "Secret", ".example.com", "*", "A.B C"} {
		if _, err := ParseKinds([]string{wrong}); err == nil {
			t.Errorf("%q is accepted", wrong)
		}
	}
}
