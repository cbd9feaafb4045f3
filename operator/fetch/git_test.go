package fetch_test

import (
	"encoding/pem"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/operator/fetch"
)

// repository is a git repository with a module.
type repository struct{ dir string }

func newRepository(t *testing.T) *repository {
	t.Helper()
	for _, name := range []string{"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"} {
		t.Setenv(name, "a")
	}
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	r := &repository{filepath.Join(t.TempDir(), "shop.git")}
	if err := os.Mkdir(r.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	r.git(t, "init", "-q", "-b", "main")
	r.commit(t, "one")
	return r
}

func (r *repository) git(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = r.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit commits a module with a text in its graphs.
func (r *repository) commit(t *testing.T, text string) {
	t.Helper()
	writeFiles(t, filepath.Join(r.dir, "modules"), shop(text))
	r.git(t, "add", ".")
	r.git(t, "commit", "-q", "-m", "x")
}

// serve starts a server with TLS that wants the user "shop" with a password. It returns the
// address of the repository, the certificate of the server, and the number of packs that it
// sent.
func (r *repository) serve(t *testing.T) (address, certificate string, packs *atomic.Int32) {
	t.Helper()
	program, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	packs = &atomic.Int32{}
	files := &cgi.Handler{
		Path: program, Args: []string{"http-backend"},
		Env: []string{"GIT_PROJECT_ROOT=" + filepath.Dir(r.dir), "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_GLOBAL=" + os.DevNull},
	}
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, got, _ := r.BasicAuth(); user != "shop" || got != password {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if r.Method == http.MethodPost {
			packs.Add(1)
		}
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	return s.URL + "/shop.git/.git", string(ca), packs
}

// TestGit fetches a private module of a git server by https.
func TestGit(t *testing.T) {
	c := start(t)
	r := newRepository(t)
	address, ca, packs := r.serve(t)
	machine(t, "127.0.0.1")
	c.secret(t, "git", corev1.SecretTypeBasicAuth, map[string]string{"username": "shop", "password": password, "ca.crt": ca})
	c.secret(t, "wrong", corev1.SecretTypeBasicAuth, map[string]string{"username": "shop", "password": "hunter2", "ca.crt": ca})
	c.secret(t, "anonymous", corev1.SecretTypeOpaque, map[string]string{"ca.crt": ca})
	f := c.fetcher(t, nil)
	get := func(namespace, secret, revision string) (*fetch.Fetched, error) {
		ref := v1alpha1.CueRef{Type: v1alpha1.CueRefGit, Ref: "git::" + address + "//modules?ref=" + revision}
		if secret != "" {
			ref.PullSecretRef = &secret
		}
		return f.Fetch(t.Context(), transformOf(namespace, ref))
	}
	first, err := get(c.Namespace, "git", "main")
	if err != nil {
		t.Fatal(err)
	}
	tip := r.git(t, "rev-parse", "HEAD")
	if text := loads(t, first); text != "" || !first.Moving || first.Ref != "git::"+address+"//modules?ref="+tip {
		t.Errorf("ref %s, moving %v, problems %s", first.Ref, first.Moving, text)
	}
	if again, err := get(c.Namespace, "git", "main"); err != nil || again.Digest != first.Digest || packs.Load() != 1 {
		t.Errorf("again: %d packs, %v", packs.Load(), err)
	}
	for what, test := range map[string][3]string{
		"wrong password":            {"wrong", "main", "Unauthorized"},
		"no credentials":            {"anonymous", "main", "Unauthorized"},
		"machine's own credentials": {"", "main", "TLS"},
		"no such branch":            {"git", "none", fetch.NotFound},
		"no such Secret":            {"none", "main", fetch.SecretNotFound},
	} {
		_, err := get(c.Namespace, test[0], test[1])
		wantReason(t, what, err, test[2])
	}
	// Another namespace has no access to what the cache has, not even by its commit.
	other, err := get(c.other, "", tip)
	wantReason(t, "other namespace", err, "TLS")
	if other != nil {
		t.Error("the cache gave the commit to another namespace")
	}
	if pinned, err := get(c.Namespace, "git", tip); err != nil || pinned.Moving {
		t.Errorf("by commit: %+v, %v", pinned, err)
	}
	r.commit(t, "two")
	if moved, err := get(c.Namespace, "git", "main"); err != nil || moved.Digest == first.Digest || moved.Ref == first.Ref {
		t.Errorf("moved: %+v, %v", moved, err)
	}
}
