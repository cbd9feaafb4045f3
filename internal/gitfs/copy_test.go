package gitfs

import (
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// git runs git in a directory without the settings of the user.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "protocol.file.allow=always"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// fill writes all files of a commit to a directory.
func fill(t *testing.T, commit, dir string) (*Copy, error) {
	t.Helper()
	c, err := NewCopy(t.Context(), commit, dir)
	if err != nil {
		return nil, err
	}
	t.Cleanup(c.Close)
	return c, c.Fill(".", func(string) bool { return true })
}

func TestCopy(t *testing.T) {
	dir := t.TempDir()
	git(t, dir, "init", "-q", "-b", "main")
	for name, content := range map[string]string{
		"apps/web.yaml": "a: 1\r\n", "empty": "", "odd name\t\"é.yaml": "x", ".gitattributes": "apps export-ignore\n*.yaml export-subst text eol=lf\n", "id.yaml": "$Format:%H$\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("apps/web.yaml", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc", filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-qm", "x")
	t.Chdir(filepath.Join(dir, "apps"))
	to := t.TempDir()
	if _, err := fill(t, "HEAD", to); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"apps/web.yaml": "a: 1\n", "empty": "", "odd name\t\"é.yaml": "x", "id.yaml": "$Format:%H$\n", "link": "a: 1\n"} {
		got, err := os.ReadFile(filepath.Join(to, name))
		if err != nil || string(got) != want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, want)
		}
	}
	if target, err := os.Readlink(filepath.Join(to, "out")); err != nil || target != "/etc" {
		t.Errorf("out: link to %q, %v", target, err)
	}
	place, err := Locate(t.Context())
	if err != nil || place.Prefix != "apps" {
		t.Errorf("place %+v, %v", place, err)
	}
}

// A copy has what was asked for, and what links lead to. Objects of other files aren't read: they are gone.
func TestCopyOnDemand(t *testing.T) {
	dir := t.TempDir()
	git(t, dir, "init", "-q", "-b", "main")
	for name, content := range map[string]string{
		"m/a.cue": "a", "m/deep/b.cue": "b", "m/deep/other": "o", "n/c.cue": "c", "n/d.yaml": "d", "pequod.yaml": "p", "n-o": "after n in the order of git",
	} {
		write(t, filepath.Join(dir, name), content)
	}
	for i := range 100 {
		write(t, filepath.Join(dir, "other", strconv.Itoa(i)), strconv.Itoa(i))
	}
	for name, target := range map[string]string{
		"link": "m/deep", "m/n": "../n", "m/c.cue": "n/c.cue", "out": "../..", "circle": "circle", "abs": dir + "/m", "dangling": "m/nothing", "other/link": "../n",
	} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-qm", "x")
	for i := range 100 {
		blob := git(t, dir, "rev-parse", fmt.Sprintf("HEAD:other/%d", i))
		if err := os.Remove(filepath.Join(dir, ".git", "objects", blob[:2], blob[2:])); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	cue := func(file string) bool { return strings.HasSuffix(file, ".cue") }
	for _, test := range []struct {
		fill string
		want string
	}{
		{"pequod.yaml", "pequod.yaml"},
		{"m/deep", "m/deep/ m/deep/b.cue"},
		{"m/deep/b.cue", "m/deep/ m/deep/b.cue"},
		{"link", "m/deep/ m/deep/b.cue"},
		{"link/../a.cue", "m/a.cue"},
		{"m", "m/a.cue m/deep/ m/deep/b.cue n/ n/c.cue"},
		{"m/n", "n/ n/c.cue"},
		{"m/c.cue", "n/ n/c.cue"},
		{"n", "n/ n/c.cue"},
		{"other/link/d.yaml", "n/ n/d.yaml"},
		{"out", ""}, {"out/etc", ""}, {"../m", ""}, {"circle", ""}, {"abs", ""}, {"dangling", ""}, {"nothing", ""}, {"m/a.cue/x", ""},
	} {
		to := t.TempDir()
		c, err := NewCopy(t.Context(), "HEAD", to)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := c.Fill(test.fill, cue); err != nil {
				t.Errorf("%s: %v", test.fill, err)
			}
		}
		c.Close()
		var got []string
		err = fs.WalkDir(os.DirFS(to), ".", func(name string, e fs.DirEntry, err error) error {
			switch {
			case name == "." || name == "m" || name == "other" || e.Type() == fs.ModeSymlink: // in any copy
			case e.IsDir():
				got = append(got, name+"/")
			default:
				got = append(got, name)
			}
			return err
		})
		if list := strings.Join(got, " "); list != test.want || err != nil {
			t.Errorf("%s: has %q, %v; want %q", test.fill, list, err, test.want)
		}
	}
	c, err := fill(t, "HEAD", t.TempDir())
	if err == nil || !strings.Contains(err.Error(), " missing; get it with 'git fetch --refetch origin'") {
		t.Errorf("all files: %v", err)
	}
	for name, want := range map[string]bool{
		".": true, "m": true, "m/deep": true, "m/deep/b.cue": true, "link": true, "link/b.cue": true, "circle": true, "dangling": true,
		"m/d": false, "n-": false, "circle/x": false, "abs/a.cue": false, "m/a.cue/x": false, "out/x": false,
	} {
		if c := c; c == nil || c.Has(name) != want {
			t.Errorf("has %s: want %t", name, want)
		}
	}
}

// write writes a file and its directory.
func write(t *testing.T, name, content string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(name), 0o755)
	if err == nil {
		err = os.WriteFile(name, []byte(content), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Nothing is written outside of the copy, or through a link of the same tree, whatever names a stranger's objects have.
func TestCopyStaysInside(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	git(t, dir, "init", "-q", "-b", "main")
	t.Chdir(dir)
	object := func(kind string, content []byte) string {
		t.Helper()
		file := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return git(t, dir, "hash-object", "-t", kind, "--literally", "-w", file)
	}
	type entry struct{ mode, name, object string }
	tree := func(entries ...entry) string {
		t.Helper()
		var all []byte
		for _, e := range entries {
			id, err := hex.DecodeString(e.object)
			if err != nil {
				t.Fatal(err)
			}
			all = append(append(all, e.mode+" "+e.name+"\x00"...), id...)
		}
		return object("tree", all)
	}
	file, link, inside := object("blob", []byte("evil")), object("blob", []byte(outside)), object("blob", []byte("b"))
	sub := tree(entry{"100644", "x", file})
	for name, test := range map[string]struct{ tree, want string }{
		"out":               {tree(entry{"120000", "a", link}, entry{"40000", "a", sub}), "mkdirat a: file exists"},
		"inside":            {tree(entry{"120000", "a", inside}, entry{"40000", "a", sub}, entry{"40000", "b", tree(entry{"100644", "y", file})}), "mkdirat a: file exists"},
		"file":              {tree(entry{"100644", "a", file}, entry{"40000", "a", sub}), "openat a/x: not a directory"},
		"twice":             {tree(entry{"100644", "a", file}, entry{"100644", "a", file}), "open a: file already exists"},
		"parent":            {tree(entry{"40000", "..", sub}), "open ../x: invalid argument"},
		"slash":             {tree(entry{"100644", "../x", file}), "open ../x: invalid argument"},
		"absolute":          {tree(entry{"100644", outside + "/x", file}), "open " + outside + "/x: invalid argument"},
		"empty":             {tree(entry{"40000", "", sub}), "git: empty filename in tree entry"},
		"repository":        {tree(entry{"40000", ".git", sub}), "open .git/x: invalid argument"},
		"repository itself": {tree(entry{"100644", ".git", file}), "open .git: invalid argument"},
	} {
		to := t.TempDir()
		_, err := fill(t, test.tree, mkdir(t, to, "copy"))
		if err == nil || err.Error() != test.want {
			t.Errorf("%s: error %v; want %s", name, err, test.want)
		}
		for _, at := range []string{outside, to} {
			if entries, _ := os.ReadDir(at); len(entries) > 1 || at == outside && len(entries) > 0 {
				t.Errorf("%s: a file was written outside: %v", name, entries)
			}
		}
		if _, err := os.Stat(filepath.Join(to, "copy", "b", "x")); err == nil {
			t.Errorf("%s: a file was written through a link", name)
		}
	}
}

// mkdir makes a directory in another one.
func mkdir(t *testing.T, dir, name string) string {
	t.Helper()
	name = filepath.Join(dir, name)
	if err := os.Mkdir(name, 0o700); err != nil {
		t.Fatal(err)
	}
	return name
}

// One git process reads all files of a revision, also after one that it doesn't have and one that is too large.
func TestOneProcess(t *testing.T) {
	dir := t.TempDir()
	git(t, dir, "init", "-q", "-b", "main")
	for i := range 20 {
		write(t, filepath.Join(dir, "d", strconv.Itoa(i)), strings.Repeat(strconv.Itoa(i)+"\n", i*1000))
	}
	write(t, filepath.Join(dir, "missing"), "missing")
	write(t, filepath.Join(dir, "large"), "")
	if err := os.Truncate(filepath.Join(dir, "large"), maxBlob+1); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "-c", "core.bigFileThreshold=1g", "add", "-A")
	git(t, dir, "commit", "-qm", "x")
	blob := git(t, dir, "rev-parse", "HEAD:missing")
	if err := os.Remove(filepath.Join(dir, ".git", "objects", blob[:2], blob[2:])); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	r, err := Open(t.Context(), "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	blobs := r.objects.(command).blobs
	started, command := 0, blobs.command
	blobs.command = func() (*exec.Cmd, error) { started++; return command() }
	for range 2 {
		_, err = r.ReadFile("large")
		wantError(t, err, "read HEAD:large: larger than 256 MiB")
		_, err = r.ReadFile("missing")
		wantError(t, err, "read HEAD:missing: git cat-file: "+blob+" missing; get it with 'git fetch --refetch origin'")
		for i := range 20 {
			data, err := r.ReadFile("d/" + strconv.Itoa(i))
			if want := strings.Repeat(strconv.Itoa(i)+"\n", i*1000); err != nil || string(data) != want {
				t.Errorf("%d: %d bytes, %v; want %d", i, len(data), err, len(want))
			}
		}
	}
	if started != 1 {
		t.Errorf("git was started %d times", started)
	}
	blobs.close()
	_, err = r.ReadFile("d/1")
	wantError(t, err, "read HEAD:d/1: git cat-file: closed")
}

func TestMergeBase(t *testing.T) {
	dir := t.TempDir()
	git(t, dir, "init", "-q", "-b", "main")
	git(t, dir, "commit", "-q", "--allow-empty", "-m", "one")
	one := git(t, dir, "rev-parse", "HEAD")
	git(t, dir, "checkout", "-qb", "change")
	git(t, dir, "commit", "-q", "--allow-empty", "-m", "two")
	git(t, dir, "checkout", "-q", "main")
	git(t, dir, "commit", "-q", "--allow-empty", "-m", "three")
	git(t, dir, "checkout", "-q", "change")
	t.Chdir(dir)
	if branch, err := DefaultBranch(t.Context()); err != nil || branch != "main" {
		t.Errorf("default branch %q, %v", branch, err)
	}
	if got, err := MergeBase(t.Context(), "main"); err != nil || got != one {
		t.Errorf("%s, %v; want %s", got, err, one)
	}
	for rev, want := range map[string]string{"nope": `no git revision "nope"; if the remote repository has it, fetch it first`, "--all": `"--all" is not a git revision; name a branch, a tag or a commit`} {
		if _, err := MergeBase(t.Context(), rev); err == nil || err.Error() != want {
			t.Errorf("%s: %v; want %s", rev, err, want)
		}
	}
}

// Pipelines clone a single commit, without the branch that a change is merged into.
func TestShallowClone(t *testing.T) {
	dir := t.TempDir()
	git(t, dir, "init", "-q", "-b", "main")
	git(t, dir, "commit", "-q", "--allow-empty", "-m", "one")
	git(t, dir, "checkout", "-qb", "change")
	git(t, dir, "commit", "-q", "--allow-empty", "-m", "two")
	clone := t.TempDir()
	git(t, clone, "init", "-q", "-b", "work")
	git(t, clone, "remote", "add", "origin", "file://"+dir)
	git(t, clone, "fetch", "-q", "--depth=1", "origin", "change")
	git(t, clone, "checkout", "-q", "--detach", "FETCH_HEAD")
	t.Chdir(clone)
	const cure = "; this clone is shallow: run 'git fetch --unshallow origin', or set fetch-depth: 0 for actions/checkout, or GIT_DEPTH: 0 in GitLab"
	_, err := DefaultBranch(t.Context())
	wantError(t, err, "no branch origin/HEAD, main or master"+cure)
	_, err = MergeBase(t.Context(), "main")
	wantError(t, err, `no git revision "main"`+cure)
	_, err = Open(t.Context(), "main")
	wantError(t, err, `no git revision "main"`+cure)
	git(t, clone, "fetch", "-q", "--depth=1", "origin", "main:refs/remotes/origin/main")
	_, err = MergeBase(t.Context(), "origin/main")
	wantError(t, err, "HEAD and origin/main have no common commit"+cure)
	git(t, clone, "fetch", "-q", "--unshallow", "origin")
	if _, err := MergeBase(t.Context(), "origin/main"); err != nil {
		t.Error(err)
	}
}

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || err.Error() != want {
		t.Errorf("error %v; want %s", err, want)
	}
}

// What git says after "fatal: " stays, with the commands that it names.
func TestOneLine(t *testing.T) {
	for said, want := range map[string]string{
		"": "",
		"fatal: not a git repository (or any of the parent directories): .git\n":                                                                                                "not a git repository (or any of the parent directories): .git",
		"warning: x\nfatal: detected dubious ownership in repository at '/r'\nTo add an exception for this directory, call:\n\n\tgit config --global --add safe.directory /r\n": "detected dubious ownership in repository at '/r'; To add an exception for this directory, call: git config --global --add safe.directory /r",
		"error: no such remote\n": "error: no such remote",
	} {
		if got := oneLine(said); got != want {
			t.Errorf("%q: %q; want %q", said, got, want)
		}
	}
}
