package release

import (
	"os"
	"path/filepath"
	"testing"
)

// TestReproducible builds the smallest program of a release in two clones of the checkout, in
// directories with different names. The bytes are the same. The second build only links: it finds
// the compiled packages of the first one. TestSnapshot compiles them again.
func TestReproducible(t *testing.T) {
	var sums []string
	commit := head(t)
	for _, name := range []string{"first", "the second one"} {
		src := clone(t, commit, name)
		run(t, src, nil, "go", "build", "-trimpath", "-tags=kustomize_disable_go_plugin_support",
			"-ldflags=-s -w -X github.com/pequod-io/pequod/internal/version.linked="+tag, "-o", "../applier", "./cmd/pequod-applier")
		data, err := os.ReadFile(filepath.Join(src, "..", "applier"))
		if err != nil {
			t.Fatal(err)
		}
		sums = append(sums, sum(data))
	}
	if sums[0] != sums[1] {
		t.Errorf("the programs have the SHA-256 %s", sums)
	}
}
