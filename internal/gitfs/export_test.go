package gitfs

import (
	"os"
	"os/exec"
	"path/filepath"
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

func TestExport(t *testing.T) {
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
	if err := Export(t.Context(), "HEAD", to); err != nil {
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

// A file can't be written through a link of the same tree, whatever names a stranger's
// objects have.
func TestExportStaysInside(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	git(t, dir, "init", "-q", "-b", "main")
	blob := func(content string) string {
		file := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return git(t, dir, "hash-object", "-w", file)
	}
	link, file := blob(outside), blob("evil")
	cmd := exec.Command("git", "mktree")
	cmd.Dir = dir
	cmd.Stdin = strings.NewReader("100644 blob " + file + "\tx\n")
	sub, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	// Git itself sorts "a" and "a" as one name; its plumbing accepts both.
	cmd = exec.Command("git", "mktree")
	cmd.Dir = dir
	cmd.Stdin = strings.NewReader("120000 blob " + link + "\ta\n040000 tree " + strings.TrimSpace(string(sub)) + "\ta\n")
	tree, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	err = Export(t.Context(), strings.TrimSpace(string(tree)), t.TempDir())
	if entries, _ := os.ReadDir(outside); len(entries) > 0 {
		t.Errorf("a file was written outside: %v", entries)
	}
	if err == nil {
		t.Error("no error")
	}
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
