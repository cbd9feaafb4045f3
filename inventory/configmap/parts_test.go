package configmap

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/pequod-io/pequod/inventory"
	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/harness"
)

// An inventory grows over one ConfigMap and shrinks again; each time its parts
// are those that it needs, and what didn't change is not written again.
func TestParts(t *testing.T) {
	t.Parallel()
	c := harness.Start(t)
	proxy := c.Proxy(t, 1)
	s := connect(t, proxy.Config(c.ServiceAccount(t, c.Namespace, "admin")))
	allow(t, c, "admin", "get", "list", "create", "patch", "delete")
	s.limit = 2000
	inv := holding(c.Namespace, 0)
	for _, count := range []int{50, 51, 100, 20, 2, 40} {
		stays := inv.Stored
		inv = holding(c.Namespace, count)
		inv.Stored = stays
		proxy.Reset()
		save(t, s, inv)
		same(t, inv, load(t, s, inv.Owner))

		text, err := inventory.Encode(inv)
		if err != nil {
			t.Fatal(err)
		}
		want := 1
		if len(text) > s.limit {
			want = 1 + len(inventory.Split(text, s.limit))
		}
		if got := len(stored(t, c)); got != want {
			t.Errorf("%d entries: %d ConfigMaps, want %d", count, got, want)
		}
		made := proxy.Count(func(r faults.Request) bool { return r.Verb == "create" })
		if count == 51 && made >= want-1 {
			t.Errorf("one entry more: %d of %d parts made anew", made, want-1)
		}
		for _, object := range stored(t, c) {
			if object.Labels["pequod.io/inventory"] != isPart {
				continue
			}
			if !strings.HasPrefix(object.Name, partPrefix) || object.Immutable == nil || !*object.Immutable || len(object.Data[keyPart]) > s.limit {
				t.Errorf("part: %+v", object)
			}
		}
	}
	inv = load(t, s, inv.Owner)
	if err := s.Remove(t.Context(), inv); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, patience, func(context.Context) error {
		if left := stored(t, c); len(left) > 0 {
			return fmt.Errorf("%d ConfigMaps are left", len(left))
		}
		return nil
	})
}

func TestManyEntries(t *testing.T) {
	t.Parallel()
	c := harness.Start(t)
	s := connect(t, c.Config)
	inv := holding(c.Namespace, 5000)
	save(t, s, inv)
	got := load(t, s, inv.Owner)
	same(t, inv, got)
	if objects := stored(t, c); len(objects) != 3 {
		t.Errorf("%d ConfigMaps", len(objects))
	}
	got.Complete = true
	save(t, s, got)
	same(t, got, load(t, s, inv.Owner))
}
