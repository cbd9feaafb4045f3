package server

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// Programs copies programs, which are named as their directories in cmd/ of this
// checkout, into dir. They are built with linker flags and further flags of the go
// command. Concurrent processes wait for each other, because the second one finds
// what the first one has built.
func Programs(ctx context.Context, dir, ldflags string, names []string, flags ...string) error {
	root, err := Checkout()
	if err != nil {
		return err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	bin := filepath.Join(root, "bin")
	if err := os.MkdirAll(bin, 0o777); err != nil {
		return err
	}
	unlock, err := lockedfile.MutexAt(filepath.Join(bin, "programs.lock")).Lock()
	if err != nil {
		return err
	}
	defer unlock()
	for _, name := range names {
		// Linking takes seconds. The go command caches linked programs only for `go
		// run`, which here runs cp with the path of the program.
		args := append([]string{"run", "-buildvcs=false", "-ldflags=" + ldflags, "-exec=cp"}, flags...)
		run := exec.CommandContext(ctx, "go", append(args, module+"/cmd/"+name, dir)...)
		run.Dir = root
		if out, err := run.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", run, err, out)
		}
	}
	return nil
}
