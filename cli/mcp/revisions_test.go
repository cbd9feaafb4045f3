//go:build linux

package mcp_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// git runs git in a directory without the settings of the user.
func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// branch makes a repository of the workspace and of the directories beside it, with a branch
// on which an instance is edited. It returns the workspace.
func branch(t *testing.T) string {
	t.Helper()
	dir := workspace(t)
	root := filepath.Dir(dir)
	git(t, root, "init", "-q", "-b", "main")
	git(t, root, "add", "-A")
	git(t, root, "commit", "-qm", "one")
	git(t, root, "switch", "-qc", "change")
	edit(t, dir)
	return dir
}

// edit changes the instance shop.yaml.
func edit(t *testing.T, dir string) {
	t.Helper()
	file := filepath.Join(dir, "shop.yaml")
	data, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, []byte(strings.Replace(string(data), "large", "small", 1)), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// listing has the names, sizes and times of all files below a directory.
func listing(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err == nil {
			all = append(all, fmt.Sprint(name, info.Size(), info.ModTime()))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestRevisions reviews a branch and names files of revisions, in a directory below the root
// of the repository, and in a worktree whose objects are elsewhere. Nothing is written.
func TestRevisions(t *testing.T) {
	dir := branch(t)
	linked := filepath.Join(t.TempDir(), "linked")
	git(t, dir, "worktree", "add", "-q", "-b", "other", linked, "main")
	edit(t, filepath.Join(linked, "work"))
	for name, dir := range map[string]string{"subdirectory": dir, "linked worktree": filepath.Join(linked, "work")} {
		t.Run(name, func(t *testing.T) {
			temporary := t.TempDir()
			t.Setenv("TMPDIR", temporary)
			before := append(listing(t, dir), listing(t, filepath.Join(filepath.Dir(dir), ".git"))...)
			s := connect(t, dir)
			shop := map[string]any{"files": []string{"shop.yaml"}, "platforms": []string{"shop"}}
			with := func(key string, value any) map[string]any {
				args := map[string]any{key: value}
				for k, v := range shop {
					args[k] = v
				}
				return args
			}
			for _, test := range []struct {
				tool string
				args map[string]any
				want string
			}{
				{"review", shop, `0 to add, 1 to change, 0 to remove`},
				{"review", with("base", "main"), `"small"`},
				{"review", with("format", "markdown"), `1 to change`},
				{"review", map[string]any{"files": []string{"apps"}, "platforms": []string{"embedded:webservice"}}, `0 to add, 0 to change, 0 to remove`},
				{"diff", map[string]any{"old": "main:old.yaml", "new": "new.yaml"}, `"two"`},
				{"impact", map[string]any{"files": []string{"shop.yaml"}, "platforms": []string{"next"}, "against": []string{"main:shop"}}, `"instances"`},
			} {
				a := ask(t, s, test.tool, test.args)
				all, err := json.Marshal(map[string]any{"data": a.Data, "text": a.Text})
				if err != nil {
					t.Fatal(err)
				}
				if !a.OK || a.Error != "" || !strings.Contains(string(all), test.want) {
					t.Errorf("%s %v: want %s in %+v", test.tool, test.args, test.want, a)
				}
			}
			if err := os.WriteFile(filepath.Join(dir, "wrong.yaml"), []byte("apiVersion: pequod.io/v1alpha1\nkind: WebService\nmetadata: {name: web}\nspec: {image: nginx, prot: 80}\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if a := ask(t, s, "review", map[string]any{"files": []string{"wrong.yaml"}}); a.OK || len(a.Problems) == 0 || a.Problems[0].File != "wrong.yaml" {
				t.Errorf("an invalid head: %+v", a)
			}
			if a := ask(t, s, "review", with("base", "--help")); a.OK || !strings.Contains(a.Messages, "not a git revision") {
				t.Errorf("a flag as base: %+v", a)
			}
			if err := os.Remove(filepath.Join(dir, "wrong.yaml")); err != nil {
				t.Fatal(err)
			}
			after := append(listing(t, dir), listing(t, filepath.Join(filepath.Dir(dir), ".git"))...)
			// The directory itself has the time of the file above.
			if diff := cmp.Diff(before[1:], after[1:]); diff != "" {
				t.Errorf("files have changed:\n%s", diff)
			}
			if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
				t.Errorf("temporary files are left: %v, %v", left, err)
			}
		})
	}
}

// TestRevisionsOutside names files of a revision outside of the server's directory. Calls
// without revisions can't read the repository.
func TestRevisionsOutside(t *testing.T) {
	dir := branch(t)
	root := filepath.Dir(dir)
	s := connect(t, dir)
	for _, old := range []string{"main:../secret/password.yaml", "main:apps/../../secret/password.yaml", "main:/secret/password.yaml", "../secret/x.oci.tar:v1", "main:..", "git::file://" + root + "?ref=main"} {
		if a := ask(t, s, "diff", map[string]any{"old": old, "new": "new.yaml"}); a.Error == "" || strings.Contains(a.Error, "hunter2") {
			t.Errorf("%s: %+v", old, a)
		}
	}
	// A Transform can name a module in a revision, but its process has no repository.
	if runtime.GOOS == "linux" {
		transform := "apiVersion: platform.pequod.io/v1alpha1\nkind: Transform\nmetadata: {name: shop}\nspec: {cueRef: {type: git, ref: \"file://" + root + "?ref=main&path=secret\"}}\n"
		if err := os.WriteFile(filepath.Join(dir, "outside.yaml"), []byte(transform), 0o600); err != nil {
			t.Fatal(err)
		}
		a := ask(t, s, "validate", map[string]any{"files": []string{"shop.yaml"}, "platforms": []string{"outside.yaml"}})
		if text, _ := json.Marshal(a); a.OK || strings.Contains(string(text), "hunter2") {
			t.Errorf("a Transform with a module of the repository: %s", text)
		}
	}
}
