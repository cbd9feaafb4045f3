package tree

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// sizes are the limits of the programs in bytes. A library that needs more than is
// left must be worth it: docs/dependencies.md has the cost of each.
var sizes = map[string]int64{
	"pequod-applier": 43_500_000,
}

// TestSizes builds the programs for the platform of most clusters, with the flags of
// a release.
func TestSizes(t *testing.T) {
	dir := t.TempDir()
	for name, limit := range sizes {
		file := filepath.Join(dir, name)
		cmd := exec.Command("go", "build", "-trimpath", "-tags=kustomize_disable_go_plugin_support", "-ldflags=-s -w", "-o", file, module+"/cmd/"+name)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", cmd, err, out)
			continue
		}
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %.1f MB", name, float64(info.Size())/1e6)
		if info.Size() > limit {
			t.Errorf("%s: %d bytes, want at most %d", name, info.Size(), limit)
		}
	}
}
