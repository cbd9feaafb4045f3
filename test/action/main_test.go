// Package action tests what runs in other systems' pipelines: the GitHub Action, the
// workflows and scripts that the documentation shows, the GitLab component and the
// hooks of pre-commit. Package test/codehost stands in for the hosts.
package action

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pequod-io/pequod/cli"
)

// asPequod makes the test binary the command line.
const asPequod = "PEQUOD_TEST_AS_PEQUOD"

// TestMain makes the checkout the working directory.
func TestMain(m *testing.M) {
	if os.Getenv(asPequod) != "" {
		os.Exit(cli.Main())
	}
	if err := os.Chdir("../.."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	os.Exit(m.Run())
}

// pequodIn writes a program pequod to dir, which is the command line of this checkout.
func pequodIn(t *testing.T, dir string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf("#!/bin/sh\n%s=1 exec '%s' \"$@\"\n", asPequod, self)
	writeFile(t, filepath.Join(dir, "pequod"), script, 0o755)
}

func writeFile(t *testing.T, file, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func readFile(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// run runs a command in dir with an environment, and returns what it prints and its exit
// code.
func run(t *testing.T, dir string, env []string, name string, args ...string) (string, int) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, env
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatalf("%s: %v", name, err)
	}
	return strings.ReplaceAll(string(out), "\r\n", "\n"), cmd.ProcessState.ExitCode()
}
