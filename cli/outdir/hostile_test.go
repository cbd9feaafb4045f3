package outdir

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestHostileIndex(t *testing.T) {
	for name, test := range map[string]struct{ index, want string }{
		"absolute":        {index("/etc/passwd.yaml"), `line 2: not a path that pequod writes: "/etc/passwd.yaml"`},
		"above":           {index("a/x.yaml", "../victim/x.yaml"), `line 3: not a path that pequod writes: "../victim/x.yaml"`},
		"above inside":    {index("a/../../victim.yaml"), "not a path that pequod writes"},
		"backslashes":     {index(`a\..\..\victim.yaml`), "not a path that pequod writes"},
		"drive":           {index("c:/victim.yaml"), "not a path that pequod writes"},
		"another file":    {index("a/x.txt"), "not a path that pequod writes"},
		"git":             {index(".git/config.yaml"), "not a path that pequod writes"},
		"blank":           {index("a/x.yaml", "", "a/y.yaml"), "line 3: not a path that pequod writes"},
		"merge conflict":  {index("<<<<<<< HEAD", "a/x.yaml", "======="), `line 2: not a path that pequod writes: "<<<<<<< HEAD"`},
		"control":         {index("a/x\x1b[31m.yaml"), `not a path that pequod writes: "a/x\x1b[31m.yaml"`},
		"newer":           {"# pequod index v2: whatever\na/x.yaml\n", "line 1: written by another version of pequod"},
		"something else":  {"a/x.yaml\n", "line 1: not an index of pequod's"},
		"empty":           {"", "empty: not an index of pequod's"},
		"a directory":     {index("a/dir.yaml"), "dir.yaml: replacing: not a regular file"},
		"a link":          {index("a/link.yaml"), "link.yaml: replacing: not a regular file"},
		"below a link":    {index("linked/x.yaml"), "linked: writing below it: not a directory"},
		"below a file":    {index("file/x.yaml"), "file: writing below it: not a directory"},
		"below a way out": {index("out/x.yaml"), "out: writing below it: not a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := output(t)
			victim := filepath.Join(filepath.Dir(dir), "victim")
			put(t, victim, files{"x.yaml": "victim"})
			put(t, dir, files{"a/x.yaml": "1", "a/x.txt": "mine", "a/dir.yaml/x": "mine", "file": "mine", "b/x.yaml": "mine", ".pequod-index": test.index})
			symlink(t, "../b", filepath.Join(dir, "a", "link.yaml"))
			symlink(t, "b", filepath.Join(dir, "linked"))
			symlink(t, victim, filepath.Join(dir, "out"))
			before := read(t, filepath.Dir(dir))
			err := write(dir, files{"n/new.yaml": "new"}, Options{Prune: true}, nil)
			wantError(t, err, test.want)
			wantTree(t, filepath.Dir(dir), before)
		})
	}
}

func symlink(t *testing.T, target, name string) {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		t.Skip(err)
	}
}

// Git may convert the line ends of the index.
func TestIndexWithCRLF(t *testing.T) {
	dir := output(t)
	put(t, dir, files{"a/x.yaml": "1", ".pequod-index": indexHeader + "\r\na/x.yaml\r\n"})
	mustWrite(t, dir, files{"a/y.yaml": "1"}, Options{Prune: true})
	wantTree(t, dir, files{"a/y.yaml": "1", ".pequod-index": index("a/y.yaml")})
}

func TestIndexIsALink(t *testing.T) {
	dir := output(t)
	put(t, dir, files{"mine": index("a/x.yaml"), "a/x.yaml": "mine"})
	symlink(t, "mine", filepath.Join(dir, ".pequod-index"))
	before := read(t, dir)
	err := write(dir, files{"a/y.yaml": "1"}, Options{Prune: true}, nil)
	wantError(t, err, ".pequod-index: reading: not a regular file")
	wantTree(t, dir, before)
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
			before := files{"a/x.yaml": "1", "b/x.yaml": "1", ".pequod-index": index("a/x.yaml", "b/x.yaml")}
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
