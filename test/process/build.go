package process

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/server"
)

// versioned returns the linker flags of a release, with a version.
func versioned(version string) string {
	return "-s -w -X github.com/pequod-io/pequod/internal/version.linked=" + version
}

// Variant returns a build of the program with another version, and with text appended to files of
// the checkout, by their paths.
func (p Program) Variant(t *testing.T, version string, appended map[string]string) Program {
	t.Helper()
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		t.Fatal(err)
	}
	overlay := map[string]map[string]string{"Replace": {}}
	for name, text := range appended {
		file := filepath.Join(strings.TrimSpace(string(root)), name)
		before, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		changed := filepath.Join(t.TempDir(), filepath.Base(name))
		if err := os.WriteFile(changed, append(before, text...), 0o600); err != nil {
			t.Fatal(err)
		}
		overlay["Replace"][file] = changed
	}
	list, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), list, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := server.Programs(t.Context(), dir, versioned(version), []string{p.Name}, "-overlay="+filepath.Join(dir, "overlay.json")); err != nil {
		t.Fatal(err)
	}
	p.path = filepath.Join(dir, p.Name)
	return p
}

// Scratch returns a directory for programs that tests build, which [Main] removes.
func Scratch() (string, error) { return scratch() }

var scratch = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "pequod-programs") })

// built is the directory of the programs as they are shipped.
var built = sync.OnceValues(func() (string, error) {
	dir, err := scratch()
	if err != nil {
		return "", err
	}
	return dir, server.Programs(context.Background(), dir, versioned("v1.2.3-test"), []string{"pequod", "pequod-applier", "pequod-manager", "pequod-actions"})
})

// Main runs the tests of a package and removes the programs that they have built.
func Main(m *testing.M) {
	harness.Parallel()
	code := m.Run()
	if dir, err := scratch(); err == nil {
		os.RemoveAll(dir) // what can't be removed is in the temporary directory
	}
	os.Exit(code)
}

// account is a subject of a binding in a component, which leaves it to kustomize to set the namespace.
var account = regexp.MustCompile("(?m)^- kind: ServiceAccount\n  name: .*\n")

// Component returns a file of a component as kustomize writes it with the manifests that it extends.
func Component(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return account.ReplaceAllString(string(text), "$0  namespace: "+Namespace+"\n")
}

// Path returns the path of a program as it is shipped.
func Path(t *testing.T, name string) string {
	t.Helper()
	dir, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, name)
}
