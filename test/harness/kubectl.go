package harness

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/pequod-io/pequod/test/server"
)

// Kubectl installs kubectl of the control plane's version into a directory, for
// documents and scripts that use it. It is built from its Go modules, so tests do
// not need a kubectl on the machine. The file is a link with the name kubectl;
// the caller adds the directory to PATH.
func Kubectl(t testing.TB, dir string) {
	t.Helper()
	binary, err := server.Kubectl(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(binary, filepath.Join(dir, "kubectl")); err != nil {
		t.Fatal(err)
	}
}
