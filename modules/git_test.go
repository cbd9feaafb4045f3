package modules_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/modules"
	"github.com/pequod-io/pequod/modules/git"
	"github.com/pequod-io/pequod/modules/pin"
)

// TestGit opens a module of a git repository: its root is the nearest cue.mod, its version
// the tag, and options reach the fetch.
func TestGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	for _, name := range []string{"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"} {
		t.Setenv(name, "a")
	}
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	dir := filepath.Join(t.TempDir(), "shop")
	for name, text := range map[string]string{
		"platforms/cue.mod/module.cue": "x", "platforms/web/web.cue": "package web\n",
		"platforms/web/huge.cue": strings.Repeat(" ", 9<<20), "top.cue": "x",
	} {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var commit string
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"commit", "-q", "-m", "x"}, {"tag", "v1.0.0"}, {"rev-parse", "HEAD"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		commit = strings.TrimSpace(string(out))
	}
	ref := v1alpha1.CueRef{Type: v1alpha1.CueRefGit, Ref: "git::file://" + dir + "//platforms?ref=v1.0.0", Path: "web"}
	var opener modules.Opener
	files, err := opener.Open(t.Context(), ref, modules.Place{})
	if err != nil {
		t.Fatal(err)
	}
	got := []string{files.Dir, files.Name, files.Ref, files.Version, files.Commit, files.Show("web/web.cue")}
	want := []string{"web", "web", ref.Ref, "v1.0.0", commit, dir + "@v1.0.0/platforms/web/web.cue"}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%q, not %q", got[i], want[i])
		}
	}
	reader := files.FS.(interface{ ReadFile(string) ([]byte, error) })
	if text, err := reader.ReadFile("web/web.cue"); string(text) != "package web\n" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := reader.ReadFile("web/huge.cue"); err == nil || !strings.Contains(err.Error(), "larger than 8 MiB") {
		t.Errorf("a large file: %v", err)
	}
	locked := modules.Opener{Options: modules.Options{Git: func() (git.Options, error) { return pin.New(pin.Options{Locked: true}).Git(), nil }}}
	if _, err := locked.Open(t.Context(), ref, modules.Place{}); err == nil || !strings.Contains(err.Error(), "there is no pequod.lock") {
		t.Errorf("locked: %v", err)
	}
}
