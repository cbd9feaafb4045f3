package engine

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/inventory"
)

// A restored object is not adopted if another graph lists it, or before that is known.
func TestRestoredObjectIsClaimed(t *testing.T) {
	seen := configMap(t, self, "a", "u-a", 5, "1")
	unstructured.RemoveNestedField(seen.Object, "metadata", "managedFields")
	for _, test := range []struct {
		name   string
		claims *inventory.Claims
		want   string
	}{
		{"unknown", nil, "wait: has the labels of the graph; looking whether another graph lists it"},
		{"by its UID", claimsOf(inventory.Entry{Key: inventory.Key{Group: "x", Kind: "Y", Name: "z"}, Node: "n", UID: "u-a"}), "OwnedElsewhere (terminal true)"},
		{"by its name", claimsOf(inventory.Entry{Key: inventory.Key{Kind: "ConfigMap", Namespace: self.Namespace, Name: "a"}, Node: "n"}), "OwnedElsewhere (terminal true)"},
		{"another object", claimsOf(inventory.Entry{Key: inventory.Key{Kind: "ConfigMap", Namespace: self.Namespace, Name: "b"}, Node: "n"}), "apply, adopt"},
	} {
		b := newEnv(t, "{"+oneNode+"}", nil, Options{})
		n := b.nodes.byID["a"]
		b.resolveDesired(n)
		b.removals.claims = claims{value: test.claims, loadedAt: b.Engine.step.now}
		if got := b.decide(n, b.newObservation(n.key, seen)).String(); !strings.HasPrefix(got, test.want) {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

func claimsOf(entries ...inventory.Entry) *inventory.Claims {
	claims := inventory.ClaimsOn(self, []*inventory.Inventory{{Owner: other, Entries: entries}})
	return &claims
}
