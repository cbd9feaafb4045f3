package moduleinit

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/pequod-io/pequod/modules/moduletest"
)

// TestInitLeavesNothing checks that a failed Init removes the directories that it
// created, and no others.
func TestInitLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Init(ctx, filepath.Join(dir, "a", "b"), "shop", nil, moduletest.Options{}); err == nil {
		t.Fatal("no error")
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 0 {
		t.Errorf("%v, %v", entries, err)
	}
	if err := os.Mkdir(filepath.Join(dir, "mine"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Init(ctx, filepath.Join(dir, "mine"), "shop", nil, moduletest.Options{}); err == nil {
		t.Fatal("no error")
	}
	if _, err := os.Stat(filepath.Join(dir, "mine")); err != nil {
		t.Error(err)
	}
}
