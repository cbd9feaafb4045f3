package gitfs_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/pequod-io/pequod/internal/gitfs"
)

// repository makes a git repository in the working directory of the test.
func repository(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	t.Chdir(t.TempDir())
	for _, name := range []string{"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"} {
		t.Setenv(name, "a")
	}
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	for name, text := range map[string]string{
		"a.txt": "a\n", "dir/b.txt": "b\n", "dir/deep/c.txt": "c\n", "dir/\u00fc \t\".txt": "quoted\n", "empty": "",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{
		"dir/inside": "deep/../b.txt", "dir/todir": "deep", "dir/outside": "../a.txt", "dir/absolute": "/etc/hostname",
		"dir/loop": "loop", "dir/nowhere": "x",
	} {
		if err := os.Symlink(target, name); err != nil {
			t.Skip(err)
		}
	}
	run(t, "init", "-q")
	run(t, "add", ".")
	run(t, "commit", "-q", "-m", "one")
}

// run runs git in the working directory.
func run(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// TestTree checks the file system of a revision, which is not that of the work tree.
func TestTree(t *testing.T) {
	repository(t)
	if err := os.RemoveAll("dir"); err != nil {
		t.Fatal(err)
	}
	rev, err := gitfs.Open(t.Context(), "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := rev.Sub("dir")
	if err != nil {
		t.Fatal(err)
	}
	// Links to nowhere, in a circle, or out of the directory can't be opened, so the
	// general test gets a directory without any.
	deep, err := fs.Sub(dir, "todir")
	if err != nil {
		t.Fatal(err)
	}
	if err := fstest.TestFS(deep, "c.txt"); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]string{
		"b.txt": "b\n", "inside": "b\n", "todir/c.txt": "c\n", "\u00fc \t\".txt": "quoted\n",
		"outside":  "HEAD:dir/outside: link outside to ../a.txt leaves the directory",
		"absolute": "HEAD:dir/absolute: link absolute to /etc/hostname leaves the directory",
		"loop":     "HEAD:dir/loop: too many links",
		"nowhere":  "HEAD:dir/nowhere: no such file or directory",
		"b.txt/x":  "HEAD:dir/b.txt/x: no such file or directory",
		"deep":     "HEAD:dir/deep: not a regular file",
		"../a.txt": "HEAD:a.txt: invalid argument",
	} {
		got, err := fs.ReadFile(dir, name)
		if err != nil {
			got = []byte(strings.TrimPrefix(err.Error(), "read "))
		}
		if string(got) != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if data, err := rev.ReadFile("dir/outside"); string(data) != "a\n" || err != nil {
		t.Errorf("a link inside of the repository: %q, %v", data, err)
	}
}

// TestRevisionIsFixed checks that a revision stays the same when its branch moves.
func TestRevisionIsFixed(t *testing.T) {
	repository(t)
	rev, err := gitfs.Open(t.Context(), "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	run(t, "rm", "-q", "a.txt")
	run(t, "commit", "-q", "-m", "two")
	if data, err := rev.ReadFile("a.txt"); string(data) != "a\n" || err != nil {
		t.Errorf("%q, %v", data, err)
	}
}

// TestNames checks names relative to a working directory below the root.
func TestNames(t *testing.T) {
	repository(t)
	t.Chdir(filepath.Join("dir", "deep"))
	rev, err := gitfs.Open(t.Context(), "HEAD~0")
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		"c.txt": "dir/deep/c.txt", "../b.txt": "dir/b.txt", "./": "dir/deep", "": "dir/deep", "../..": ".",
		"../../..": "", "/a.txt": "",
	} {
		if name, ok := rev.Path(file); ok != (want != "") || ok && name != want {
			t.Errorf("%q: %q, %t, want %q", file, name, ok, want)
		}
	}
	for name, want := range map[string]string{"dir/deep/c.txt": "HEAD~0:c.txt", "a.txt": "HEAD~0:../../a.txt"} {
		if got := rev.Shown(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// TestElsewhere checks files whose contents are not in the repository.
func TestElsewhere(t *testing.T) {
	repository(t)
	head, err := exec.Command("git", "rev-parse", "HEAD").Output()
	if err != nil {
		t.Fatal(err)
	}
	run(t, "update-index", "--add", "--cacheinfo", "160000,"+strings.TrimSpace(string(head))+",dir/sub")
	pointer := "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"
	if err := os.WriteFile("dir/large.cue", []byte(pointer), 0o644); err != nil {
		t.Fatal(err)
	}
	run(t, "add", "dir/large.cue")
	run(t, "commit", "-q", "-m", "elsewhere")
	rev, err := gitfs.Open(t.Context(), "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	const submodule = "a submodule, whose files are not part of this repository; refer to the repository of the submodule itself"
	_, inside := rev.ReadFile("dir/sub/a.txt")
	_, sub := rev.Sub("dir/sub")
	_, list := rev.ReadDir("dir/sub")
	_, large := rev.ReadFile("dir/large.cue")
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"file of a submodule": {inside, "read HEAD:dir/sub/a.txt: " + submodule},
		"submodule":           {sub, "sub HEAD:dir/sub: " + submodule},
		"list of a submodule": {list, "readdir HEAD:dir/sub: " + submodule},
		"pointer":             {large, "read HEAD:dir/large.cue: is a pointer to a Git LFS file, which is not fetched; commit the file itself, without LFS"},
	} {
		if c.err == nil || c.err.Error() != c.want {
			t.Errorf("%s: %v; want %s", name, c.err, c.want)
		}
	}
}
