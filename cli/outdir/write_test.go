package outdir

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// files maps paths to contents; a path that ends in "/" is an empty directory.
type files map[string]string

// output returns a directory that does not exist yet. Its locks are in a temporary cache.
func output(t *testing.T) string {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	return filepath.Join(t.TempDir(), "deploy", "out")
}

func put(t *testing.T, dir string, content files) {
	t.Helper()
	for name, text := range content {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// read returns the content of a directory including hidden files, or nil if it does not
// exist.
func read(t *testing.T, dir string) files {
	t.Helper()
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	found := files{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		name = filepath.ToSlash(name)
		switch {
		case d.IsDir():
			if entries, err := os.ReadDir(path); err != nil || len(entries) > 0 || name == "." {
				return err
			}
			found[name+"/"] = ""
		case d.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			found[name] = "-> " + target
			return err
		default:
			content, err := os.ReadFile(path)
			found[name] = string(content)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// written returns what a run writes: files with their headers.
func written(content files) files {
	all := files{}
	for name, text := range content {
		all[name] = headerOf("render", name) + text
	}
	return all
}

// join returns the files of both.
func join(a, b files) files {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// write performs a whole run. A step that panics with errKilled kills it: nothing is
// cleaned up but the lock, which the operating system would release.
func write(dir string, content files, o Options, step func(string) error) (err error) {
	r := newRun(dir, "render")
	if step != nil {
		r.step = step
	}
	defer func() {
		if killed := recover(); killed != nil {
			err = killed.(error)
		}
	}()
	var all []File
	for _, path := range slices.Sorted(maps.Keys(content)) {
		all = append(all, File{Path: path, Source: "test " + path, Data: []byte(content[path])})
	}
	return r.write(all, o)
}

var errKilled = errors.New("killed")

func mustWrite(t *testing.T, dir string, content files, o Options) {
	t.Helper()
	if err := write(dir, content, o, nil); err != nil {
		t.Fatal(err)
	}
}

func wantTree(t *testing.T, dir string, want files) {
	t.Helper()
	if diff := cmp.Diff(want, read(t, dir)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", dir, diff)
	}
}

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	} else if strings.Contains(err.Error(), "\n") {
		t.Errorf("error of several lines: %v", err)
	}
}

func TestRuns(t *testing.T) {
	dir := output(t)
	mustWrite(t, dir, files{"a/x.yaml": "1", "a/y.yaml": "1", "b/x.yaml": "1"}, Options{})
	wantTree(t, dir, written(files{"a/x.yaml": "1", "a/y.yaml": "1", "b/x.yaml": "1"}))

	mine := files{"b/mine.yaml": "mine", "mine.txt": "mine", "c/mine/deep.yaml": "mine"}
	put(t, dir, mine)

	// Without Prune, all files stay, and may be pruned later.
	mustWrite(t, dir, files{"a/x.yaml": "2", "c/z.yaml": "2"}, Options{})
	wantTree(t, dir, join(mine, written(files{"a/x.yaml": "2", "a/y.yaml": "1", "b/x.yaml": "1", "c/z.yaml": "2"})))

	// With Prune, files that are not rendered are removed, with directories that are
	// empty then.
	mustWrite(t, dir, files{"c/z.yaml": "2"}, Options{Prune: true})
	wantTree(t, dir, join(mine, written(files{"c/z.yaml": "2"})))

	if err := write(dir, nil, Options{Prune: true}, nil); !errors.Is(err, ErrEmpty) {
		t.Errorf("pruning everything: %v", err)
	}
	mustWrite(t, dir, nil, Options{})
	wantTree(t, dir, join(mine, written(files{"c/z.yaml": "2"})))
	mustWrite(t, dir, nil, Options{Prune: true, AllowEmpty: true})
	wantTree(t, dir, mine)
}

// TestClusters checks the directories of clusters: one that is gone is pruned as a whole, and a
// link in its place is not followed.
func TestClusters(t *testing.T) {
	if got := In("con", "a/x.yaml"); got != "%63on/a/x.yaml" || In("", "a/x.yaml") != "a/x.yaml" {
		t.Errorf("a cluster with the name of a device: %s", got)
	}
	dir := output(t)
	both := files{In("eu-1", "a/x.yaml"): "1", In("eu-2", "a/x.yaml"): "1", In("eu-2", "b/x.yaml"): "1"}
	mustWrite(t, dir, both, Options{})
	wantTree(t, dir, written(files{"eu-1/a/x.yaml": "1", "eu-2/a/x.yaml": "1", "eu-2/b/x.yaml": "1"}))
	mustWrite(t, dir, files{"eu-1/a/x.yaml": "1"}, Options{Prune: true})
	wantTree(t, dir, written(files{"eu-1/a/x.yaml": "1"}))
	if _, err := os.Stat(filepath.Join(dir, "eu-2")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory of a cluster that is gone: %v", err)
	}
	symlink(t, "eu-1", filepath.Join(dir, "eu-3"))
	wantError(t, write(dir, files{"eu-3/a/x.yaml": "2"}, Options{Prune: true}, nil), "eu-3: writing below it: not a directory")
	wantTree(t, dir, join(files{"eu-3": "-> eu-1"}, written(files{"eu-1/a/x.yaml": "1"})))
	put(t, dir, files{"eu-4": "mine"})
	wantError(t, write(dir, files{"eu-4/a/x.yaml": "2"}, Options{}, nil), "eu-4: writing below it: not a directory")
}

// TestCheck compares Check with what Write changes, and checks that it changes
// nothing itself.
func TestCheck(t *testing.T) {
	dir := output(t)
	check := func(content files, o Options) []Stale {
		t.Helper()
		var all []File
		for _, path := range slices.Sorted(maps.Keys(content)) {
			all = append(all, File{Path: path, Source: "test " + path, Data: []byte(content[path])})
		}
		before := read(t, filepath.Dir(dir))
		stale, err := Check(dir, "render", all, o)
		if err != nil {
			t.Fatal(err)
		}
		wantTree(t, filepath.Dir(dir), before)
		return stale
	}
	first := files{"a/x.yaml": "1\n2\n3\n", "b/y.yaml": "1"}
	want := []Stale{{Path: "a/x.yaml", Source: "test a/x.yaml"}, {Path: "b/y.yaml", Source: "test b/y.yaml"}}
	if diff := cmp.Diff(want, check(first, Options{})); diff != "" {
		t.Errorf("no directory (-want +got):\n%s", diff)
	}
	mustWrite(t, dir, first, Options{})
	if stale := check(first, Options{Prune: true}); len(stale) > 0 {
		t.Errorf("up to date: %v", stale)
	}
	second := files{"a/x.yaml": "1\n2\n4\n", "c/z.yaml": "1"}
	want = []Stale{{Path: "a/x.yaml", Source: "test a/x.yaml", Line: 4}, {Path: "c/z.yaml", Source: "test c/z.yaml"}, {Path: "b/y.yaml"}}
	if diff := cmp.Diff(want, check(second, Options{Prune: true})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want[:2], check(second, Options{})); diff != "" {
		t.Errorf("without Prune (-want +got):\n%s", diff)
	}
	if _, err := Check(dir, "render", nil, Options{Prune: true}); !errors.Is(err, ErrEmpty) {
		t.Errorf("pruning everything: %v", err)
	}
	put(t, dir, files{"d/mine.yaml": "mine"})
	_, err := Check(dir, "render", []File{{Path: "d/mine.yaml", Data: []byte("1")}}, Options{})
	wantError(t, err, "not written by pequod")
}

// TestKeep checks that a file keeps a content that the caller accepts, and that the
// caller sees it without the header and with its own line ends.
func TestKeep(t *testing.T) {
	dir := output(t)
	mustWrite(t, dir, files{"a/x.yaml": "1\nold\n"}, Options{})
	f := File{Path: "a/x.yaml", Source: "x", Data: []byte("1\nnew\n"), Keep: func(content []byte) bool { return string(content) == "1\nold\n" }}
	if err := Write(dir, "render", []File{f}, Options{}); err != nil {
		t.Fatal(err)
	}
	wantTree(t, dir, written(files{"a/x.yaml": "1\nold\n"}))
	crlf := files{"a/x.yaml": strings.ReplaceAll(written(files{"a/x.yaml": "1\nold\n"})["a/x.yaml"], "\n", "\r\n")}
	put(t, dir, crlf)
	if stale, err := Check(dir, "render", []File{f}, Options{}); err != nil || len(stale) > 0 {
		t.Errorf("with other line ends: %v, %v", stale, err)
	}
	f.Keep = func([]byte) bool { return false }
	if err := Write(dir, "render", []File{f}, Options{}); err != nil {
		t.Fatal(err)
	}
	wantTree(t, dir, written(files{"a/x.yaml": "1\nnew\n"}))
}

func TestUnchangedFilesAreNotTouched(t *testing.T) {
	dir := output(t)
	content := files{"a/x.yaml": "1", "a/y.yaml": "1"}
	mustWrite(t, dir, content, Options{})
	old := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	for name := range read(t, dir) {
		if err := os.Chtimes(filepath.Join(dir, name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	err := write(dir, content, Options{Prune: true}, func(what string) error {
		t.Errorf("changes the disk: %s", what)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	content["a/y.yaml"] = "2"
	mustWrite(t, dir, content, Options{Prune: true})
	for name, touched := range map[string]bool{"a/x.yaml": false, "a/y.yaml": true} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if got := !info.ModTime().Equal(old); got != touched {
			t.Errorf("%s: touched: %t", name, got)
		}
	}
}

func TestFilesOfOthers(t *testing.T) {
	dir := output(t)
	before := files{"a/1.yaml": "mine", "a/2.yaml": "mine", "b/3.yaml": "mine", "b/4.yaml": "mine", "b/same.yaml": "same"}
	put(t, dir, before)
	content := files{"a/1.yaml": "x", "a/2.yaml": "x", "b/3.yaml": "x", "b/4.yaml": "x", "b/new.yaml": "x"}
	err := write(dir, content, Options{Prune: true}, nil)
	wantError(t, err, "3.yaml and 1 more: not written by pequod and not what it would write")
	wantTree(t, dir, before)

	// A file with the right content gets the header.
	mustWrite(t, dir, files{"b/same.yaml": "same"}, Options{Prune: true})
	wantTree(t, dir, join(before, written(files{"b/same.yaml": "same"})))
}

// TestFilesBecomeMine checks that a file that pequod wrote is the user's once it is
// replaced, copied or renamed, so that it survives the next prune.
func TestFilesBecomeMine(t *testing.T) {
	dir := output(t)
	mustWrite(t, dir, files{"a/x.yaml": "1", "a/y.yaml": "1"}, Options{})
	was := read(t, dir)["a/x.yaml"]
	mine := files{"a/x.yaml": "mine", "a/copy.yaml": was, "b/x.yaml": was}
	put(t, dir, mine)
	mustWrite(t, dir, files{"a/y.yaml": "1"}, Options{Prune: true})
	wantTree(t, dir, join(mine, written(files{"a/y.yaml": "1"})))
}

func TestOwnersPruneOwnFiles(t *testing.T) {
	dir := output(t)
	mustWrite(t, dir, files{"a/x.yaml": "1"}, Options{})
	for _, path := range []string{"b/x.yaml", "b/y.yaml"} {
		if err := Write(dir, "crd generate", []File{{Path: path, Source: "CRD", Data: []byte("1")}}, Options{Prune: true}); err != nil {
			t.Fatal(err)
		}
	}
	wantTree(t, dir, join(written(files{"a/x.yaml": "1"}), files{"b/y.yaml": headerOf("crd generate", "b/y.yaml") + "1"}))
	err := write(dir, files{"b/y.yaml": "2"}, Options{}, nil)
	wantError(t, err, "not written by pequod")
}

// A run that fails before the first rename leaves the directory as it was.
func TestFailsWhileStaging(t *testing.T) {
	dir := output(t)
	before := join(files{"mine.yaml": "mine"}, written(files{"a/x.yaml": "1"}))
	put(t, dir, before)
	full := errors.New("no space left on device")
	err := write(dir, files{"a/x.yaml": "2", "b/y.yaml": "2"}, Options{Prune: true}, func(what string) error {
		if what == "staging b/y.yaml" {
			return full
		}
		return nil
	})
	if !errors.Is(err, full) {
		t.Errorf("error %v", err)
	}
	wantTree(t, dir, before)
}

func TestSamePathTwice(t *testing.T) {
	dir := output(t)
	err := Write(dir, "", []File{{Path: "a/x.yaml", Source: "Service a/x (app.yaml:1:1)"}, {Path: "a/x.yaml", Source: "Service a/x (more.yaml:7:1)"}}, Options{})
	wantError(t, err, "Service a/x (app.yaml:1:1) and Service a/x (more.yaml:7:1): both are written to a/x.yaml")
	wantError(t, Write(dir, "", []File{{Path: "../x.yaml", Source: "Service"}}, Options{}), "not a path for an object")
	wantTree(t, dir, nil)
}

func TestRunsAreExclusive(t *testing.T) {
	dir := output(t)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(filepath.Dir(dir), link); err != nil {
		t.Skip(err)
	}
	// The first run stops at its first step until the test lets it go on.
	started, proceed := make(chan bool), make(chan bool)
	first, second := make(chan error, 1), make(chan error, 1)
	go func() {
		first <- write(dir, files{"a/x.yaml": "1"}, Options{}, func(string) error {
			select {
			case started <- true:
				<-proceed
			case <-proceed:
			}
			return nil
		})
	}()
	<-started
	go func() {
		// Another name of the same directory.
		second <- write(filepath.Join(link, "out"), files{"a/y.yaml": "2"}, Options{Prune: true}, nil)
	}()
	select {
	case err := <-second:
		t.Fatalf("did not wait: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	close(proceed)
	for _, end := range []chan error{first, second} {
		if err := <-end; err != nil {
			t.Fatal(err)
		}
	}
	wantTree(t, dir, written(files{"a/y.yaml": "2"}))
}

func TestLockWithoutHome(t *testing.T) {
	dir := output(t)
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("HOME", "")
	t.Setenv("TMPDIR", t.TempDir())
	mustWrite(t, dir, files{"a/x.yaml": "1"}, Options{})
	t.Setenv("TMPDIR", filepath.Join(dir, "a", "x.yaml"))
	if runtime.GOOS != "windows" {
		err := write(dir, files{"a/x.yaml": "2"}, Options{}, nil)
		wantError(t, err, "out: locking: ")
	}
}

// A file with values of Secrets can be read by its owner only, also if an earlier run
// wrote it for everyone.
func TestPrivateFiles(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such permissions")
	}
	dir := t.TempDir()
	for _, private := range []bool{false, true} {
		f := File{Path: "a/x.yaml", Source: "x", Data: []byte("x"), Private: private}
		if err := Write(dir, "", []File{f}, Options{}); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(filepath.Join(dir, "a", "x.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm()&0o077 == 0; got != private {
			t.Errorf("private %t: mode %v", private, info.Mode())
		}
	}
}
