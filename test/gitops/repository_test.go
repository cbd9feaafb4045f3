package gitops

import (
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pequod-io/pequod/test/process"
)

// repository is a git repository that is served over HTTP.
type repository struct {
	dir string
	url string
}

// newRepository serves an empty repository.
func newRepository(t *testing.T) *repository {
	t.Helper()
	r := &repository{dir: filepath.Join(t.TempDir(), "deploy")}
	if err := os.Mkdir(r.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	r.git(t, "init", "-q", "-b", "main")
	backend := &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(r.git(t, "--exec-path")), "git-http-backend"),
		Env:  []string{"GIT_PROJECT_ROOT=" + filepath.Dir(r.dir), "GIT_HTTP_EXPORT_ALL=1"},
	}
	server := httptest.NewServer(http.HandlerFunc(backend.ServeHTTP))
	t.Cleanup(server.Close)
	r.url = server.URL + "/deploy/.git"
	return r
}

// git runs git in the repository, and returns its output.
func (r *repository) git(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", r.dir, "-c", "user.name=test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// write writes a file; empty content removes it.
func (r *repository) write(t *testing.T, name, content string) {
	t.Helper()
	path := filepath.Join(r.dir, name)
	if content == "" {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		return
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// render renders the instances in apps to graphs.
func (r *repository) render(t *testing.T) {
	t.Helper()
	process.PequodIn(t, r.dir, 0, "render", "-f", "apps", "--output-dir", "graphs", "--prune")
}

// roles writes the rights that the graphs need to access.
func (r *repository) roles(t *testing.T) {
	t.Helper()
	cmd := exec.Command(process.Path(t, "pequod"), "rbac", "generate", "-f", "graphs", "-R")
	cmd.Dir, cmd.Stderr = r.dir, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	r.write(t, "access/roles.yaml", string(out))
}

// commit commits everything, and returns the commit.
func (r *repository) commit(t *testing.T, message string) string {
	t.Helper()
	r.git(t, "add", "-A")
	r.git(t, "commit", "-q", "-m", message)
	return r.head(t)
}

// head returns the commit that is checked out.
func (r *repository) head(t *testing.T) string {
	t.Helper()
	return strings.TrimSpace(r.git(t, "rev-parse", "HEAD"))
}

// read returns the content of a file.
func (r *repository) read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
