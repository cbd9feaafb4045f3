package server

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// fakeCheckout is a checkout whose control plane is a small program.
func fakeCheckout(t *testing.T) string {
	t.Helper()
	t.Setenv(Version, "") // make compat sets it
	root := t.TempDir()
	put(t, root, "go.mod", "module "+module+"\n")
	put(t, root, "test/cluster/go.mod", "module "+module+"/test/cluster\n\ngo 1.26.0\n\nrequire k8s.io/kubernetes v1.36.3\n")
	put(t, root, "test/cluster/main.go", "package main\n\nfunc main() { println(text) }\n")
	put(t, root, "test/cluster/text.go", "package main\n\nconst text = `one`\n")
	put(t, root, "test/cluster/text_test.go", "package main\n")
	return root
}

func put(t *testing.T, root, name, text string) {
	t.Helper()
	path := filepath.Join(root, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func TestBuildOnce(t *testing.T) {
	root := fakeCheckout(t)
	var building sync.WaitGroup
	var paths [4]string
	var logs [4]bytes.Buffer
	for i := range paths {
		building.Go(func() {
			path, err := controlPlane.build(t.Context(), root, &logs[i])
			if err != nil {
				t.Error(err)
			}
			paths[i] = path
		})
	}
	building.Wait()
	compiled := 0
	for i := range paths {
		if paths[i] != paths[0] {
			t.Errorf("%s is not %s", paths[i], paths[0])
		}
		compiled += strings.Count(logs[i].String(), "compiling a Kubernetes v1.36.3 control plane")
	}
	if compiled != 1 {
		t.Errorf("compiled %d times", compiled)
	}

	var log bytes.Buffer
	put(t, root, "test/cluster/text_test.go", "package main // changed\n")
	if path, err := controlPlane.build(t.Context(), root, &log); err != nil || path != paths[0] || log.Len() > 0 {
		t.Errorf("after a change to a test: %s, %v, log %q", path, err, log.String())
	}
	put(t, root, "test/cluster/text.go", "package main\n\nconst text = `two`\n")
	path, err := controlPlane.build(t.Context(), root, &log)
	if err != nil || path == paths[0] {
		t.Fatalf("after a change: %s, %v", path, err)
	}
	if _, err := os.Stat(paths[0]); err == nil {
		t.Error("the binary of before is still there")
	}
}

// PEQUOD_KUBERNETES chooses another go.mod. The binaries of both versions stay.
func TestVersions(t *testing.T) {
	root := fakeCheckout(t)
	put(t, root, "test/cluster/versions/1.37.mod", "module "+module+"/test/cluster\n\ngo 1.26.0\n\nrequire k8s.io/kubernetes v1.37.2\n")
	put(t, root, "test/cluster/versions/1.35.mod", "")
	var log bytes.Buffer
	paths := map[string]string{}
	for _, minor := range []string{"", "1.36", "1.37"} {
		t.Setenv(Version, minor)
		path, err := controlPlane.build(t.Context(), root, &log)
		if err != nil {
			t.Fatal(err)
		}
		paths[minor] = path
	}
	for minor, path := range paths {
		if !built(path) {
			t.Errorf("%s: %s is gone", minor, path)
		}
	}
	if paths[""] != paths["1.36"] || !strings.Contains(filepath.Base(paths["1.37"]), "-1.37-") || !strings.Contains(log.String(), "Kubernetes v1.37.2 control plane") {
		t.Errorf("%v, log %q", paths, log.String())
	}
	t.Setenv(Version, "1.2")
	want := "test cluster: PEQUOD_KUBERNETES=1.2: no such version: test/cluster/versions has 1.35, 1.37, and 1.36 is the default"
	if _, err := controlPlane.build(t.Context(), root, &log); err == nil || err.Error() != want {
		t.Errorf("%v; want %s", err, want)
	}
}

// make compat tests with every version that there is.
func TestCompatVersions(t *testing.T) {
	root, err := Checkout()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, source)
	def, err := readRecipe(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	versions := append(otherVersions(dir), def.minor())
	slices.Sort(versions)
	for _, version := range versions {
		if r, err := readRecipe(dir, version); err != nil || r.minor() != version {
			t.Errorf("%s: Kubernetes %s, %v", version, r.kubernetes, err)
		}
	}
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "\nCOMPAT ?= " + strings.Join(versions, " ") + "\n"; !strings.Contains(string(makefile), want) {
		t.Errorf("the Makefile has no line %q", want)
	}
}

func TestBuildSaysWhatIsWrong(t *testing.T) {
	root := fakeCheckout(t)
	put(t, root, "test/cluster/text.go", "package main\n\nconst text = 1 +\n")
	path, err := controlPlane.build(t.Context(), root, &bytes.Buffer{})
	if err == nil || !strings.Contains(err.Error(), "text.go:") {
		t.Errorf("%s, %v", path, err)
	}
	left, _ := filepath.Glob(filepath.Join(root, "bin", controlPlane.name+"-"+"*"))
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestCheckout(t *testing.T) {
	root := fakeCheckout(t)
	if got, err := checkout(filepath.Join(root, "test/cluster")); err != nil || got != root {
		t.Errorf("%s, %v", got, err)
	}
	if got, err := checkout(t.TempDir()); err == nil || !strings.Contains(err.Error(), "not in a checkout of "+module) {
		t.Errorf("%s, %v", got, err)
	}
}
