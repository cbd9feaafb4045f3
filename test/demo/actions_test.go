package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pequod-io/pequod/test/docsession"
	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/postgres"
)

// readable has temporary directories that PostgreSQL can use, which doesn't run as root.
func readable(t *testing.T) (dir string) {
	t.Helper()
	dir = os.Getenv("TMPDIR")
	for _, d := range []string{filepath.Dir(dir), dir} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// lines returns the lines of a text with single spaces, since widths of columns depend on values
// that vary.
func lines(text string) []string {
	text = regexp.MustCompile(` +`).ReplaceAllString(text, " ")
	return strings.Split(strings.TrimRight(text, "\n"), "\n")
}

// The demonstration of Actions prints what testdata/actions.txt has, from the YAML of two other
// projects to a database that is ready, and a Pod that is another one. "…" stands for what varies.
func TestActions(t *testing.T) {
	postgres.Require(t)
	left := leftovers(t)
	readable(t)
	want, err := os.ReadFile(filepath.Join("testdata", "actions.txt"))
	if err != nil {
		t.Fatal(err)
	}
	run := makeTarget("demo-actions")
	var out, stderr transcript
	run.Stdout, run.Stderr = &out, &stderr
	if err := run.Run(); err != nil {
		t.Fatalf("%v\n%s%s", err, out.String(), stderr.String())
	}
	if want, got := lines(string(want)), lines(out.String()); !docsession.Matches(want, got) {
		t.Errorf("transcript (-want +got):\n%s\n%s", cmp.Diff(want, got), out.String())
	}
	if left := left(); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// Ctrl-C in a terminal, which interrupts all processes of the terminal, leaves no process and no
// file.
func TestActionsInterrupted(t *testing.T) {
	postgres.Require(t)
	left := leftovers(t)
	dir := readable(t)
	run := makeTarget("demo-actions")
	run.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var out transcript
	run.Stderr = &out
	run.Stdout = io.MultiWriter(&out, writer(func(data []byte) {
		// Everything runs by then.
		if strings.Contains(string(data), "$ pequod status "+databaseGraph) {
			if err := syscall.Kill(-run.Process.Pid, syscall.SIGINT); err != nil {
				t.Error(err)
			}
		}
	}))
	if err := run.Run(); err == nil {
		t.Errorf("no error after an interrupt\n%s", out.String())
	}
	if text := out.String(); !strings.Contains(text, "demo: interrupted\n") || strings.Contains(text, "$ kubectl get action") {
		t.Errorf("interrupted elsewhere, or not cleanly:\n%s", text)
	}
	// make ends when it likes to, not after its children.
	harness.Eventually(t, time.Minute, func(context.Context) error {
		if err := syscall.Kill(-run.Process.Pid, 0); !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("a process of the group is left: %v", err)
		}
		if left := left(); len(left) > 0 {
			return fmt.Errorf("files are left: %v", left)
		}
		return nil
	})
	// Processes of PostgreSQL have groups of their own.
	all, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range all {
		// Processes come and go.
		if cwd, err := os.Readlink(link); err == nil && strings.HasPrefix(cwd, dir+"/") {
			t.Errorf("%s is %s", link, cwd)
		}
	}
}
