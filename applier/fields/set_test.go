package fields

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// randomSet returns a set of few keys, so that two of them overlap often.
func randomSet(r *rand.Rand, depth int) map[string]any {
	set := map[string]any{}
	for _, key := range []string{"f:a", "f:b", `k:{"name":"x"}`, `v:"y"`} {
		if r.IntN(2) == 0 {
			continue
		}
		below := map[string]any{}
		if depth > 0 && r.IntN(3) > 0 {
			below = randomSet(r, depth-1)
		}
		if len(below) > 0 && r.IntN(2) == 0 {
			below[selfKey] = map[string]any{}
		}
		set[key] = below
	}
	return set
}

// The set operations must agree with structured-merge-diff, which the API server
// uses to compute managedFields.
func TestSetMatchesStructuredMergeDiff(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 2000 {
		a, b := Set(randomSet(r, 3)), Set(randomSet(r, 3))
		before := text(t, a) + text(t, b)
		x, y := reference(t, a), reference(t, b)
		for name, pair := range map[string]struct {
			got  Set
			want *fieldpath.Set
		}{
			"union":      {a.union(b), x.Union(y)},
			"difference": {a.difference(b), x.Difference(y)},
		} {
			if !reference(t, pair.got).Equals(pair.want) {
				t.Fatalf("%d: %s of %s and %s: %s, want %s", i, name, text(t, a), text(t, b), text(t, pair.got), pair.want)
			}
		}
		var got, want []string
		for path := range a.leaves() {
			got = append(got, strings.Join(path, "/"))
		}
		for path := range x.Leaves().All() {
			var keys []string
			for _, element := range path {
				key, err := fieldpath.SerializePathElement(element)
				if err != nil {
					t.Fatal(err)
				}
				keys = append(keys, key)
			}
			want = append(want, strings.Join(keys, "/"))
		}
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%d: leaves of %s (-want +got):\n%s", i, text(t, a), diff)
		}
		if after := text(t, a) + text(t, b); after != before {
			t.Fatalf("%d: an operand was changed: %s, was %s", i, after, before)
		}
	}
}

func text(t *testing.T, s Set) string {
	t.Helper()
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func reference(t *testing.T, s Set) *fieldpath.Set {
	t.Helper()
	set := &fieldpath.Set{}
	if err := set.FromJSON(strings.NewReader(text(t, s))); err != nil {
		t.Fatal(fmt.Errorf("%s: %w", text(t, s), err))
	}
	return set
}
