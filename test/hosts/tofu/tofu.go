// Package tofu has the program tofu for tests of the executor terraform: OpenTofu itself if
// PEQUOD_E2E is set, as make e2e does, which takes minutes to compile. Otherwise it is a small program
// that stands in for it: it has the commands, the exit codes, the messages, the state and the locks
// that the executor relies on, for configurations in JSON with resources of the type terraform_data
// and little else. The same tests run with both.
//
// [Program] is the entry point.
package tofu

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/pequod-io/pequod/test/process"
)

// Real reports whether the tests use OpenTofu.
func Real() bool { return os.Getenv("PEQUOD_E2E") != "" }

// Program returns the path of the program.
func Program(t testing.TB) string {
	t.Helper()
	find := standIn
	if Real() {
		find = opentofu
	}
	path, err := find()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// opentofu returns the path of the program that make e2e builds.
var opentofu = sync.OnceValues(func() (string, error) {
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", err
	}
	path := filepath.Join(strings.TrimSpace(string(root)), "bin", "tofu")
	_, err = os.Stat(path)
	return path, err
})

// standIn builds the program that stands in for OpenTofu.
var standIn = sync.OnceValues(func() (string, error) {
	dir, err := process.Scratch()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "tofu")
	build := exec.Command("go", "build", "-o", path, "github.com/pequod-io/pequod/test/hosts/tofu/standin")
	build.Stderr = os.Stderr
	return path, build.Run()
})
