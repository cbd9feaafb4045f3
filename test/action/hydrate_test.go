package action

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// hydration is a clone of a repository in which CI renders.
type hydration struct {
	*job
	clone, script string
}

func newHydration(t *testing.T) *hydration {
	t.Helper()
	j := newJob(t, "{}", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=Ada \"A\" L", "GIT_AUTHOR_EMAIL=ada@example.com", "GIT_COMMITTER_NAME=ci", "GIT_COMMITTER_EMAIL=ci@example.com")
	script, err := filepath.Abs("action/hydrate.sh")
	if err != nil {
		t.Fatal(err)
	}
	h := &hydration{job: j, clone: checkout(t, j, nil), script: script}
	h.git(t, "init", "-q", "--bare", filepath.Join(j.dir, "origin"))
	h.git(t, "remote", "add", "origin", filepath.Join(j.dir, "origin"))
	h.git(t, "switch", "-q", "main")
	h.git(t, "push", "-q", "origin", "main", "main:environment/dev")
	return h
}

func (h *hydration) git(t *testing.T, args ...string) string {
	t.Helper()
	out, code := run(t, h.clone, h.env, "git", args...)
	if code != 0 {
		t.Fatalf("git %v: %s", args, out)
	}
	return strings.TrimSpace(out)
}

// commit changes a file of main and returns the commit.
func (h *hydration) commit(t *testing.T, file, text, message string) string {
	t.Helper()
	writeFile(t, filepath.Join(h.clone, file), text, 0o644)
	h.git(t, "add", "-A")
	h.git(t, "commit", "-q", "-m", message)
	return h.git(t, "rev-parse", "HEAD")
}

// hydrate runs the script and returns the tip of the proposed branch.
func (h *hydration) hydrate(t *testing.T, want string) string {
	t.Helper()
	out, code := run(t, h.clone, h.env, "bash", h.script, "environment/dev")
	if code != 0 || !strings.Contains(out, want) {
		t.Fatalf("exit code %d; want %s:\n%s", code, want, out)
	}
	if list := h.git(t, "worktree", "list"); strings.Contains(list, "\n") {
		t.Errorf("left behind: %s", list)
	}
	tip, _, _ := strings.Cut(h.git(t, "ls-remote", "origin", "refs/heads/environment/dev-next"), "\t")
	h.git(t, "fetch", "-q", "origin", "environment/dev-next", "+refs/notes/hydrator.metadata:refs/notes/hydrator.metadata")
	return tip
}

// dryOf returns the commit that the note of a hydrated commit names.
func (h *hydration) dryOf(t *testing.T, tip string) string {
	t.Helper()
	var note struct{ DrySha string }
	if err := json.Unmarshal([]byte(h.git(t, "notes", "--ref=refs/notes/hydrator.metadata", "show", tip)), &note); err != nil {
		t.Fatal(err)
	}
	return note.DrySha
}

// TestHydrate fulfills the contract of GitOps Promoter for hydrators.
func TestHydrate(t *testing.T) {
	h := newHydration(t)
	first := h.git(t, "rev-parse", "HEAD")
	tip := h.hydrate(t, "environment/dev-next is rendered from "+first)
	if got := h.dryOf(t, tip); got != first {
		t.Errorf("the note names %s; want %s", got, first)
	}
	h.git(t, "merge-base", "origin/environment/dev", tip) // otherwise a pull request can't merge them
	if files := h.git(t, "ls-tree", "-r", "--name-only", tip); !strings.Contains(files, "hydrator.metadata") || !strings.Contains(files, "graphs/shop/") {
		t.Errorf("files:\n%s", files)
	}

	// The same commit again does nothing. A commit that renders the same writes a note.
	if again := h.hydrate(t, "is rendered from "+first+" already"); again != tip {
		t.Errorf("the branch moved to %s", again)
	}
	second := h.commit(t, "README.md", "x", "Text only")
	if again := h.hydrate(t, "stays as it is for "+second); again != tip || h.dryOf(t, tip) != second {
		t.Errorf("the branch moved to %s, the note names %s", again, h.dryOf(t, tip))
	}

	// A message of strangers is data, in the file of metadata as well.
	hostile := "Say \"hi\" \\ \x01 ${IFS} `x`\n\nbody\t\",\n\"drySha\": \"evil\"\n"
	third := h.commit(t, "apps/web.yaml", strings.Replace(webYAML, "1.4.0", "1.5.0", 1), hostile)
	moved := h.hydrate(t, "is rendered from "+third)
	if moved == tip || h.dryOf(t, moved) != third {
		t.Errorf("the branch is at %s, the note names %s", moved, h.dryOf(t, moved))
	}
	var metadata map[string]string
	if err := json.Unmarshal([]byte(h.git(t, "show", moved+":hydrator.metadata")), &metadata); err != nil {
		t.Fatalf("%v:\n%s", err, h.git(t, "show", moved+":hydrator.metadata"))
	}
	delete(metadata, "date")
	want := map[string]string{
		"drySha": third, "author": "Ada \"A\" L <ada@example.com>", "subject": "Say \"hi\" \\  ${IFS} `x`",
		"body": "body\t\",\n\"drySha\": \"evil\"", "repoURL": filepath.Join(h.dir, "origin"),
	}
	if diff := cmp.Diff(want, metadata); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}

	// A slow run of an older commit changes nothing.
	h.git(t, "switch", "-q", "--detach", second)
	if again := h.hydrate(t, "is rendered from "+third+", which is newer"); again != moved {
		t.Errorf("the branch moved to %s", again)
	}
	h.git(t, "switch", "-q", "main")

	// An instance that can't be rendered changes nothing, and neither do files that no
	// commit has.
	h.commit(t, "apps/web.yaml", strings.Replace(webYAML, "8080", "70000", 1), "wrong")
	if out, code := run(t, h.clone, h.env, "bash", h.script, "environment/dev"); code == 0 || !strings.Contains(out, "70000") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	writeFile(t, filepath.Join(h.clone, "apps", "web.yaml"), webYAML, 0o644)
	if out, code := run(t, h.clone, h.env, "bash", h.script, "environment/dev"); code != 2 || !strings.Contains(out, "uncommitted changes") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	if now, _, _ := strings.Cut(h.git(t, "ls-remote", "origin", "refs/heads/environment/dev-next"), "\t"); now != moved {
		t.Errorf("the branch moved to %s", now)
	}
}
