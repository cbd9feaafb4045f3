package action

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestPreCommit runs the hooks with pre-commit itself. pre-commit runs no hook for a deleted
// file, unless the hook always runs.
func TestPreCommit(t *testing.T) {
	if _, err := exec.LookPath("pre-commit"); err != nil {
		t.Skip("pre-commit is not installed; Debian has a package of that name")
	}
	hooks := checkout(t, newJob(t, "{}"), map[string]string{".pre-commit-hooks.yaml": readFile(t, ".pre-commit-hooks.yaml")})
	j := newJob(t, "{}")
	dir := checkout(t, j, map[string]string{
		"pequod.yaml":   settings + "render:\n  output-dir: graphs\n  prune: true\n",
		"apps/two.yaml": strings.Replace(webYAML, "name: web", "name: two", 1),
	})
	env := append(j.env, "PRE_COMMIT_HOME="+filepath.Join(j.dir, "pre-commit"))
	for _, test := range []struct{ change, hook, want string }{
		{"pequod render && git add -A", "pequod-render-check", "Passed"},
		{"true", "pequod-validate", "Passed"},
		{"git -c user.name=a -c user.email=a@example.com commit -qm graphs && git rm -q apps/two.yaml", "pequod-render-check", "graphs/shop/resourcegraph.platform.pequod.io-two-"},
		{"echo '  prot: 1' >> apps/web.yaml && git add -A", "pequod-validate", "apps/web.yaml:7:3: spec.prot: unknown field"},
	} {
		if out, code := run(t, dir, env, "sh", "-c", test.change); code != 0 {
			t.Fatalf("%s: %s", test.change, out)
		}
		out, code := run(t, dir, env, "pre-commit", "try-repo", hooks, test.hook)
		if !strings.Contains(out, test.want) || (code == 0) != (test.want == "Passed") {
			t.Errorf("after %s: %s: exit code %d, want %s:\n%s", test.change, test.hook, code, test.want, out)
		}
	}
}
