package gitfs

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/pequod-io/pequod/test/messages"
)

// TestMessages checks that the errors about real failures keep the words of git, and tell what to
// do.
func TestMessages(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give a repository to another user")
	}
	for _, name := range []string{"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"} {
		t.Setenv(name, "a")
	}
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	check := func(name string, err error, said, next string) {
		t.Helper()
		t.Run(name, func(t *testing.T) { messages.Check(t, err, said, next) })
		found = append(found, fmt.Sprint(err))
	}
	open := func(rev string) error {
		_, err := Open(t.Context(), rev)
		return err
	}
	t.Chdir(t.TempDir())
	check("no repository", open("HEAD"), "git: not a git repository", "run the command in a clone of the repository")
	git(t, ".", "init", "-q", "-b", "main")
	_, err = Head(t.Context(), "")
	check("no commit", err, "the repository has no commit yet", "commit the files first")
	const pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"
	if err := os.WriteFile("large.cue", []byte(pointer), 0o644); err != nil {
		t.Fatal(err)
	}
	git(t, ".", "add", ".")
	git(t, ".", "update-index", "--add", "--cacheinfo", "160000,cafecafecafecafecafecafecafecafecafecafe,sub")
	git(t, ".", "commit", "-q", "-m", "one")
	check("revision", open("nope"), `no git revision "nope"`, "if the remote repository has it, fetch it first")
	check("option", open("--all"), `"--all" is not a git revision`, "name a branch, a tag or a commit")
	_, err = MergeBase(t.Context(), "--all")
	check("base", err, `"--all" is not a git revision`, "name a branch, a tag or a commit")
	r, err := Open(t.Context(), "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.ReadFile("large.cue")
	check("LFS", err, "is a pointer to a Git LFS file", "commit the file itself, without LFS")
	_, err = r.ReadFile("sub/m.cue")
	check("submodule", err, "a submodule, whose files are not part of this repository", "refer to the repository of the submodule itself")

	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	clone := t.TempDir()
	git(t, clone, "init", "-q", "-b", "work")
	git(t, clone, "fetch", "-q", "--depth=1", "file://"+dir, "main")
	git(t, clone, "checkout", "-q", "--detach", "FETCH_HEAD")
	t.Chdir(clone)
	check("shallow", open("v1"), `no git revision "v1"`, "this clone is shallow: run 'git fetch --unshallow origin', or set fetch-depth: 0 for actions/checkout, or GIT_DEPTH: 0 in GitLab")
	partial := t.TempDir()
	git(t, dir, "config", "uploadpack.allowFilter", "true")
	git(t, partial, "clone", "-q", "--filter=blob:none", "--no-checkout", "file://"+dir, ".")
	t.Chdir(partial)
	if r, err = Open(t.Context(), "HEAD"); err != nil {
		t.Fatal(err)
	}
	_, err = r.ReadFile("large.cue")
	check("partial clone", err, "from promisor remote", "this clone is a partial one: run 'git fetch --refetch --no-filter', or clone without a filter")
	t.Chdir(dir)
	blob := git(t, dir, "rev-parse", "HEAD:large.cue")
	if err := os.Remove(filepath.Join(dir, ".git", "objects", blob[:2], blob[2:])); err != nil {
		t.Fatal(err)
	}
	_, err = fill(t, "HEAD", t.TempDir())
	check("missing object", err, blob+" missing", "get it with 'git fetch --refetch origin'")
	for _, name := range []string{dir, filepath.Join(dir, ".git")} {
		if err := os.Chown(name, 12345, 12345); err != nil {
			t.Fatal(err)
		}
	}
	check("dubious ownership", open("HEAD"), "detected dubious ownership in repository", "To add an exception for this directory, call: git config --global --add safe.directory "+dir)
	t.Setenv("PATH", "")
	check("no git", open("HEAD"), "reading revisions requires git, which is not installed", "install it")
	messages.Covered(t, filepath.Join(here, "command.go"), []string{"failure", "missing"}, found, "--is-shallow-repository")
	messages.Covered(t, filepath.Join(here, "fs.go"), []string{"ReadFile"}, found, "not a regular file")
	messages.Covered(t, filepath.Join(here, "tree.go"), []string{"errSubmodule"}, found)
}
