// Package mutants shows that the tests that SECURITY.md names notice when what it claims is gone: each
// mutant in table_test.go takes one check out of the code, and the named test must fail.
//
// The working tree isn't changed: the mutant is compiled with go test -overlay, and a test that reads the
// file when it runs gets a copy of the tree. TestTable always checks the table. TestMutants compiles and
// runs all mutants, which takes 10 to 100 seconds each on two busy cores, so only make soak does: tests
// wait for a state that the mutant prevents.
package mutants

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// mutant is a change of the code that takes away what a row of SECURITY.md claims.
type mutant struct {
	// row is the beginning of the row, and test is one of the tests that it names, in the directory pkg:
	// TestScripts/NAME for the script NAME.txtar.
	row, pkg, test string
	// file is changed: old, which it has once, becomes new.
	file, old, new string
}

// deadline limits a test without a mutant. With one, it gets three times the time that it took without, and two
// minutes for compiling programs: many tests wait for a state that the mutant prevents.
const deadline = 4 * time.Minute

// TestMain makes the checkout the working directory of the tests.
func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	os.Exit(m.Run())
}

var link = regexp.MustCompile("\\[`(\\w+)(\\.txtar)?`\\]\\(([^)]+)\\)")

// rows returns the rows of SECURITY.md that say what an attacker cannot do. Those of the overview repeat them.
func rows(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| cannot ") && strings.Count(line, " | ") == 2 {
			all = append(all, strings.TrimPrefix(line, "| "))
		}
	}
	return all
}

// names reports whether a row begins as that of a mutant does, and names its test.
func (m mutant) names(row string) bool {
	if !strings.HasPrefix(row, m.row) {
		return false
	}
	for _, found := range link.FindAllStringSubmatch(row, -1) {
		test, pkg := found[1], path.Dir(found[3])
		if found[2] != "" {
			test = "TestScripts/" + test
			pkg, _, _ = strings.Cut(pkg, "/testdata")
		}
		if test == m.test && pkg == m.pkg {
			return true
		}
	}
	return false
}

// TestTable checks that each mutant changes one place of the code, and belongs to one row.
func TestTable(t *testing.T) {
	t.Parallel()
	all := rows(t)
	have := map[string]bool{}
	for _, m := range mutants {
		data, err := os.ReadFile(m.file)
		if err != nil {
			t.Error(err)
			continue
		}
		if n := strings.Count(string(data), m.old); n != 1 || m.old == m.new || m.old == "" {
			t.Errorf("%s has %q %d times, want once; the table of mutants follows the code", m.file, m.old, n)
		}
		var found []string
		for _, row := range all {
			if m.names(row) {
				found = append(found, row)
				have[row] = true
			}
		}
		if len(found) != 1 {
			t.Errorf("%d rows of SECURITY.md begin with %q and name %s in %s, want one", len(found), m.row, m.test, m.pkg)
		}
	}
	if n := len(all) - len(have); n != without {
		t.Errorf("%d rows of SECURITY.md have no mutant; without says %d: add a mutant, or correct it", n, without)
	}
}

// TestMutants checks that each mutant is killed by the test of its row.
func TestMutants(t *testing.T) {
	if os.Getenv("PEQUOD_SOAK") == "" {
		t.Skip("make soak runs it")
	}
	programs, took := t.TempDir(), map[string]time.Duration{}
	for i, m := range mutants {
		t.Run(fmt.Sprintf("%d %s %s", i, strings.ReplaceAll(m.pkg, "/", "."), m.test), func(t *testing.T) {
			// A test that fails anyway kills nothing.
			of := m.pkg + " " + m.test
			if took[of] == 0 {
				program := filepath.Join(programs, strings.ReplaceAll(m.pkg, "/", "-"))
				if _, err := os.Stat(program); err != nil {
					m.compile(t, program, "")
				}
				began := time.Now()
				out, err := m.run(t, program, "", ".", deadline)
				if strings.Contains(out, "--- SKIP: "+m.test+" ") {
					t.Skip("this machine skips the test")
				}
				if err != nil || !strings.Contains(out, "--- PASS: "+m.test+" ") {
					t.Fatalf("without a mutant: %v\n%s", err, out)
				}
				took[of] = time.Since(began)
			}
			program := filepath.Join(t.TempDir(), "mutant")
			overlay := m.overlay(t)
			m.compile(t, program, overlay)
			if out, err := m.run(t, program, overlay, m.tree(t), 2*time.Minute+3*took[of]); err == nil {
				t.Errorf("lives: %s without %q\n%s", m.file, m.old, out)
			} else {
				t.Logf("killed: %s without %q", m.file, m.old)
			}
		})
	}
}

// overlay writes the changed file, and returns the name of a file for the option -overlay of go.
func (m mutant) overlay(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	data, err := os.ReadFile(m.file)
	if err != nil {
		t.Fatal(err)
	}
	original, err := filepath.Abs(m.file)
	if err != nil {
		t.Fatal(err)
	}
	changed, file := filepath.Join(dir, filepath.Base(m.file)), filepath.Join(dir, "overlay.json")
	list, err := json.Marshal(map[string]map[string]string{"Replace": {original: changed}})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{changed: strings.Replace(string(data), m.old, m.new, 1), file: string(list)} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return file
}

// compile compiles the tests of the package with an overlay, or without if it is "". It ends t if they can't be.
func (m mutant) compile(t *testing.T, program, overlay string) {
	t.Helper()
	out, err := exec.Command("go", "test", "-c", "-ldflags=-s -w", "-overlay="+overlay, "-o", program, "./"+m.pkg).CombinedOutput()
	if err != nil {
		t.Fatalf("compiling %s with %s without %q: %v\n%s", m.pkg, m.file, m.old, err, out)
	}
}

// tree returns the tree in which the test runs: a changed copy if the test may read the file.
func (m mutant) tree(t *testing.T) string {
	t.Helper()
	if path.Ext(m.file) == ".go" || m.pkg != "config" && m.pkg != "test/action" {
		return "."
	}
	dir := t.TempDir()
	err := os.CopyFS(dir, os.DirFS("."))
	data, readErr := os.ReadFile(m.file)
	if err = errors.Join(err, readErr); err == nil {
		err = os.WriteFile(filepath.Join(dir, m.file), bytes.Replace(data, []byte(m.old), []byte(m.new), 1), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// run runs the test in a tree for at most limit, and returns the end of its output. Programs that it compiles have the
// overlay, too. The error is that of the test.
func (m mutant) run(t *testing.T, program, overlay, tree string, limit time.Duration) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit+time.Minute)
	defer cancel()
	name := strings.ReplaceAll(m.test, "/", "$/^")
	cmd := exec.CommandContext(ctx, program, "-test.run=^"+name+"$", "-test.v", "-test.count=1", "-test.timeout="+limit.String())
	cmd.Dir, cmd.Env = filepath.Join(tree, m.pkg), append(os.Environ(), strings.TrimSpace("GOFLAGS="+os.Getenv("GOFLAGS")+" -overlay="+overlay))
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	return string(out[max(0, len(out)-4000):]), err
}
