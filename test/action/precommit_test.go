package action

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestPreCommit runs the hooks with pre-commit itself, as docs/ci.md configures them.
// pre-commit runs no hook for a deleted file, unless the hook always runs. No hook has an
// environment to install, so that the test needs no network. Without pre-commit it is
// skipped, but under CI=true it fails.
func TestPreCommit(t *testing.T) {
	if _, err := exec.LookPath("pre-commit"); err != nil {
		const reason = "no pre-commit: install the package pre-commit of Debian"
		if ci, _ := strconv.ParseBool(os.Getenv("CI")); ci {
			t.Fatal(reason)
		}
		t.Skip(reason)
	}
	hooks := checkout(t, newJob(t, "{}"), map[string]string{".pre-commit-hooks.yaml": readFile(t, ".pre-commit-hooks.yaml")})
	revision, code := run(t, hooks, os.Environ(), "git", "rev-parse", "HEAD")
	if code != 0 {
		t.Fatal(revision)
	}
	config := listings(t, "docs/ci.md")[".pre-commit-config.yaml"]
	for _, replace := range [][2]string{{"https://github.com/pequod-io/pequod", hooks}, {"v0.1.0", strings.TrimSpace(revision)}} {
		if !strings.Contains(config, replace[0]) {
			t.Fatalf("docs/ci.md doesn't have %s:\n%s", replace[0], config)
		}
		config = strings.Replace(config, replace[0], replace[1], 1)
	}
	j := newJob(t, "{}")
	dir := checkout(t, j, map[string]string{
		"pequod.yaml":             settings + "render:\n  output-dir: graphs\n  prune: true\n",
		"apps/two.yaml":           strings.Replace(webYAML, "name: web", "name: two", 1),
		".pre-commit-config.yaml": config,
	})
	env := append(j.env, "PRE_COMMIT_HOME="+filepath.Join(j.dir, "pre-commit"))
	const commit = "git add -A && git -c user.name=a -c user.email=a@example.com commit -qm change"
	for _, test := range []struct{ change, hook, want string }{
		{"pequod render && git add -A", "pequod-render-check", "Passed"},
		{"true", "pequod-validate", "Passed"},
		{"true", "pequod-module-vet", "Skipped"},
		{commit + " && git rm -q apps/two.yaml", "pequod-render-check", "graphs/shop/resourcegraph.platform.pequod.io-two-"},
		{"pequod module init shop --dir modules && git add -A", "pequod-module-vet", "Passed"},
		{"echo 'wrong: 1 & 2' >> modules/shop/render.cue && git add -A", "pequod-module-vet", "modules/shop/render.cue:"},
		{"echo '  prot: 1' >> apps/web.yaml && git add -A", "pequod-validate", "apps/web.yaml:7:3: spec.prot: unknown field"},
	} {
		if out, code := run(t, dir, env, "sh", "-c", test.change); code != 0 {
			t.Fatalf("%s: %s", test.change, out)
		}
		out, code := run(t, dir, env, "pre-commit", "run", test.hook)
		good := test.want == "Passed" || test.want == "Skipped"
		if !strings.Contains(out, test.want) || (code == 0) != good {
			t.Errorf("after %s: %s: exit code %d, want %s:\n%s", test.change, test.hook, code, test.want, out)
		}
	}
}
