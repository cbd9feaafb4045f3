package kinds

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pequod-io/pequod/api/reference"
)

func TestPathOf(t *testing.T) {
	for in, want := range map[string]reference.Path{
		"":                     nil,
		"<nil>":                nil,
		"spec":                 {"spec"},
		"spec.list[3].name":    {"spec", "list", 3, "name"},
		"spec.map[a.b/c].x[0]": {"spec", "map", "a.b/c", "x", 0},
	} {
		if diff := cmp.Diff(want, pathOf(in)); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", in, diff)
		}
	}
}

func TestRelated(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want bool
	}{
		{"spec.a", "spec.a", true},
		{"spec", "spec.a.b", true},
		{"spec.a.b", "spec.a", true},
		{"spec.a", "spec.ab", false},
		{"spec.a", "spec.a[0]", true},
		{"", "spec.a", true},
		{"spec.a", "spec.b", false},
	} {
		if got := related(test.a, test.b); got != test.want {
			t.Errorf("related(%q, %q) = %v", test.a, test.b, got)
		}
	}
}
