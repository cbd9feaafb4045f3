package outdir

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// A run removes only files whose header names their own path and its owner, and
// follows no link to them.
func TestHostileHeaders(t *testing.T) {
	dir := output(t)
	header := func(path string) string { return headerOf("render", path) + "x" }
	put(t, dir, files{
		"a/victim.yaml":        "mine",
		"a/other.yaml":         header("a/victim.yaml"),
		"a/above.yaml":         header("../above.yaml"),
		"a/x.txt":              header("a/x.txt"),
		"top.yaml":             header("top.yaml"),
		".git/config.yaml":     header(".git/config.yaml"),
		"a/n/deep/x.yaml":      header("a/n/deep/x.yaml"),
		"UPPER/x.yaml":         header("UPPER/x.yaml"),
		"a/crd.yaml":           headerOf("crd generate", "a/crd.yaml"),
		"a/inside.yaml":        "kind: ConfigMap\ndata:\n  x: |\n    " + header("a/inside.yaml"),
		"a/later.yaml":         "kind: ConfigMap\n" + header("a/later.yaml"),
		"a/unended.yaml":       "# " + header("a/unended.yaml"),
		"a/dir.yaml/x.yaml":    header("a/dir.yaml"),
		"../victim/x.yaml":     header("out/x.yaml"),
		"../victim/named.yaml": header("linked/named.yaml"),
	})
	symlink(t, "victim.yaml", filepath.Join(dir, "a", "link.yaml"))
	symlink(t, "../victim", filepath.Join(dir, "linked"))
	symlink(t, "nowhere", filepath.Join(dir, "a", "dangling.yaml"))
	before := read(t, filepath.Dir(dir))
	mustWrite(t, dir, files{"n/new.yaml": "new"}, Options{Prune: true})
	mustWrite(t, dir, nil, Options{Prune: true, AllowEmpty: true})
	wantTree(t, filepath.Dir(dir), before)
}

// A file keeps its owner if git converts its line ends, or if another tool puts a
// comment above the header. An empty file is what a power failure leaves.
func TestHeaderIsRecognized(t *testing.T) {
	dir := output(t)
	header := headerOf("render", "a/x.yaml")
	for name, content := range map[string]string{
		"CRLF":       strings.ReplaceAll(header+"1\n", "\n", "\r\n"),
		"a comment":  "# Copyright\n#\n\n" + header + "1\n",
		"no newline": strings.TrimSuffix(header, "\n"),
	} {
		put(t, dir, files{"a/x.yaml": content})
		mustWrite(t, dir, files{"b/x.yaml": "1"}, Options{Prune: true})
		wantTree(t, dir, written(files{"b/x.yaml": "1"}))
		put(t, dir, files{"a/x.yaml": content})
		mustWrite(t, dir, files{"a/x.yaml": "2"}, Options{})
		if got := read(t, dir)["a/x.yaml"]; got != header+"2" {
			t.Errorf("%s: %q", name, got)
		}
	}
	put(t, dir, files{"a/x.yaml": ""})
	mustWrite(t, dir, files{"a/x.yaml": "2"}, Options{Prune: true})
	wantTree(t, dir, written(files{"a/x.yaml": "2"}))
}

func symlink(t *testing.T, target, name string) {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		t.Skip(err)
	}
}

// A file or directory in the way is an error that names it, and nothing is written.
func TestInTheWay(t *testing.T) {
	for name, test := range map[string]struct {
		build func(t *testing.T, dir string)
		want  string
	}{
		"directory for file": {func(t *testing.T, dir string) { put(t, dir, files{"b/x.yaml/y": "mine"}) }, "x.yaml: replacing: not a regular file"},
		"link for file": {func(t *testing.T, dir string) {
			put(t, dir, files{"b/y.yaml": "mine"})
			symlink(t, "y.yaml", filepath.Join(dir, "b", "x.yaml"))
		}, "x.yaml: replacing: not a regular file"},
		"file for directory": {func(t *testing.T, dir string) { put(t, dir, files{"b": "mine"}) }, "b: writing below it: not a directory"},
		"link for directory": {func(t *testing.T, dir string) {
			put(t, dir, files{"c/y.yaml": "mine"})
			symlink(t, "c", filepath.Join(dir, "b"))
		}, "b: writing below it: not a directory"},
		"link out": {func(t *testing.T, dir string) {
			put(t, filepath.Join(filepath.Dir(dir), "victim"), files{"x.yaml": "victim"})
			put(t, dir, files{"mine": "mine"})
			symlink(t, "../victim", filepath.Join(dir, "b"))
		}, "b: writing below it: not a directory"},
		"link to a directory": {func(t *testing.T, dir string) {
			put(t, dir, files{"c/x.yaml": headerOf("render", "b/x.yaml")})
			symlink(t, "c", filepath.Join(dir, "b"))
		}, "b: writing below it: not a directory"},
		"file for output": {func(t *testing.T, dir string) { put(t, filepath.Dir(dir), files{"out": "mine"}) }, "out: opening: not a directory"},
		"file above output": {func(t *testing.T, dir string) {
			put(t, filepath.Dir(filepath.Dir(dir)), files{"deploy": "mine"})
		}, "not a directory"},
		"dangling output": {func(t *testing.T, dir string) {
			put(t, filepath.Dir(dir), files{"mine": "mine"})
			symlink(t, "nowhere", dir)
		}, "out: opening: no such file or directory"},
	} {
		t.Run(name, func(t *testing.T) {
			if runtime.GOOS == "windows" {
				t.Skip("error texts differ")
			}
			dir := output(t)
			test.build(t, dir)
			before := read(t, filepath.Dir(filepath.Dir(dir)))
			err := write(dir, files{"a/x.yaml": "1", "b/x.yaml": "1"}, Options{}, nil)
			wantError(t, err, test.want)
			wantTree(t, filepath.Dir(filepath.Dir(dir)), before)
		})
	}
}

func TestUnwritable(t *testing.T) {
	if runtime.GOOS == "windows" || os.Getuid() == 0 {
		t.Skip("permissions are not enforced")
	}
	for name, locked := range map[string]string{"output": ".", "below": "b"} {
		t.Run(name, func(t *testing.T) {
			dir := output(t)
			before := written(files{"a/x.yaml": "1", "b/x.yaml": "1"})
			put(t, dir, before)
			if err := os.Chmod(filepath.Join(dir, locked), 0o555); err != nil {
				t.Fatal(err)
			}
			err := write(dir, files{"a/x.yaml": "2", "b/x.yaml": "2"}, Options{}, nil)
			if err := os.Chmod(filepath.Join(dir, locked), 0o755); err != nil {
				t.Fatal(err)
			}
			wantError(t, err, "permission denied")
			wantTree(t, dir, before)
		})
	}
}
