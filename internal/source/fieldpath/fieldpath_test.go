package fieldpath

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestJoinAndSplit(t *testing.T) {
	for _, test := range []struct {
		names []string
		want  string
	}{
		{[]string{"spec", "replicas"}, "spec.replicas"},
		{[]string{"metadata", "annotations", "example.org/tier"}, `metadata.annotations["example.org/tier"]`},
		{[]string{"a", "", "b"}, `a[""].b`},
		{[]string{"two words", `q"uote`, "br[ack]et"}, `["two words"]["q\"uote"]["br[ack]et"]`},
		{[]string{"8080", "_hidden", "#def"}, "8080._hidden.#def"},
	} {
		var path string
		for _, name := range test.names {
			path = Join(path, name)
		}
		if path != test.want {
			t.Errorf("Join of %q = %s, want %s", test.names, path, test.want)
		}
		if diff := cmp.Diff(test.names, Split(path)); diff != "" {
			t.Errorf("Split(%s): %s", path, diff)
		}
	}
}

func TestSplitIndexes(t *testing.T) {
	path := Join("ports"+Index(12), "name")
	if diff := cmp.Diff([]string{"ports", "12", "name"}, Split(path)); diff != "" {
		t.Errorf("Split(%s): %s", path, diff)
	}
	if diff := cmp.Diff([]string{"a", "0"}, Split("a[0")); diff != "" {
		t.Error(diff)
	}
}
