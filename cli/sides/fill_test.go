package sides_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/pequod-io/pequod/cli/sides"
)

// TestFillAtOnce has a directory filled by several goroutines. Each finds all files as soon as it is told that they
// are there.
func TestFillAtOnce(t *testing.T) {
	const files = 300
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "m"), 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range files {
		if err := os.WriteFile(filepath.Join(dir, "m", fmt.Sprint(i, ".cue")), fmt.Append(nil, i), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	commit := ""
	for _, command := range []string{"init -q", "add -A", "-c user.name=t -c user.email=t@example.com commit -qm x", "rev-parse HEAD"} {
		out, err := exec.Command("git", strings.Fields(command)...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %s: %v\n%s", command, err, out)
		}
		commit = strings.TrimSpace(string(out))
	}
	checkout, err := sides.Open(t.Context(), commit)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			module := filepath.Join(checkout.Dir(), "m")
			if err := checkout.Fill(module); err != nil {
				t.Error(err)
			}
			if found, err := os.ReadDir(module); err != nil || len(found) != files {
				t.Errorf("%d files, %v; want %d", len(found), err, files)
			}
		})
	}
	all.Wait()
	if err := checkout.Close(); err != nil {
		t.Error(err)
	}
}
