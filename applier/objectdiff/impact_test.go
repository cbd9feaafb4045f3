package objectdiff

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// GroupsOf and Impact make the same groups: a manager and pequod rollout plan choose the same
// canaries.
func TestGroupsOf(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 3))
		var m Impact
		var keys []GroupKey
		var all []Instance
		for i := range 40 {
			in := Instance{Kind: "Shop", Namespace: "d", Name: fmt.Sprint("shop", i), Graph: fmt.Sprint("shop-shop", i)}
			object := func(field string, value int) []Object {
				objects, err := FromManifest(map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
					"metadata": map[string]any{"name": in.Name, "namespace": "d"}, "data": map[string]any{field: fmt.Sprint(value)}}, "")
				if err != nil {
					t.Fatal(err)
				}
				return objects
			}
			field := fmt.Sprint("f", r.IntN(3))
			d := Compare(object(field, -1), object(field, r.IntN(2+4*r.IntN(2))))
			m.Add(in, d)
			keys, all = append(keys, in.Key(d)), append(all, in)
		}
		want := map[Instance]int{}
		for n, g := range m.Groups() {
			for _, in := range g.Instances {
				want[in] = n
			}
		}
		of := map[int]int{}
		for i, n := range GroupsOf(keys) {
			if other, ok := of[n]; ok && other != want[all[i]] {
				t.Fatalf("seed %d: group %d has instances of the groups %d and %d", seed, n, other, want[all[i]])
			}
			of[n] = want[all[i]]
		}
		if len(of) != len(m.Groups()) {
			t.Errorf("seed %d: %d groups; want %d", seed, len(of), len(m.Groups()))
		}
	}
}
