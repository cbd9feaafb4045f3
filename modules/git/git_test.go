package git

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/pequod-io/pequod/modules/oci"
	"github.com/pequod-io/pequod/test/sshgit"
)

// repository is a git repository on disk and its server.
type repository struct {
	dir string
	// url is the address by HTTP.
	url string
	// old and tip are the commits of branch main.
	old, tip string
}

// newRepository makes a repository with two commits, and serves it with git's own server.
// wrap changes the server; it may be nil.
func newRepository(t *testing.T, wrap func(http.Handler) http.Handler) *repository {
	t.Helper()
	program, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	for _, name := range []string{"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"} {
		t.Setenv(name, "a")
	}
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("NETRC", filepath.Join(t.TempDir(), "netrc"))
	root := t.TempDir()
	r := &repository{dir: filepath.Join(root, "shop.git")}
	write(t, r.dir, "web/cue.mod/module.cue", "module")
	write(t, r.dir, "web/main.cue", "old")
	write(t, r.dir, "secret.txt", "secret")
	for name, target := range map[string]string{"web/outside": "../../../etc/passwd", "web/above": "../secret.txt"} {
		if err := os.Symlink(target, filepath.Join(r.dir, name)); err != nil {
			t.Skip(err)
		}
	}
	r.git(t, "init", "-q", "-b", "main")
	r.commit(t)
	r.old = r.git(t, "rev-parse", "HEAD")
	r.git(t, "tag", "v1.0.0")
	write(t, r.dir, "web/main.cue", "new")
	r.commit(t)
	r.tip = r.git(t, "rev-parse", "HEAD")
	r.git(t, "tag", "-a", "-m", "annotated", "v1.1.0")
	r.git(t, "branch", "next", "HEAD~1")
	var handler http.Handler = &cgi.Handler{
		Path: program, Args: []string{"http-backend"},
		Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_GLOBAL=" + os.DevNull},
	}
	if wrap != nil {
		handler = wrap(handler)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	r.url = server.URL + "/shop.git/.git"
	return r
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	name = filepath.Join(dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// git runs git in the repository and returns its output without the last line break.
func (r *repository) git(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = r.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (r *repository) commit(t *testing.T) {
	r.git(t, "add", "-A")
	r.git(t, "commit", "-q", "-m", "x")
}

// fetch fetches a revision of the repository at url.
func fetch(t *testing.T, url, revision string) (*Snapshot, error) {
	t.Helper()
	return Fetch(t.Context(), parse(t, url, revision), Options{})
}

func parse(t *testing.T, url, revision string) Ref {
	t.Helper()
	if revision != "" {
		revision = "?ref=" + revision
	}
	ref, err := ParseRef(Prefix + url + "//web" + revision)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// TestRevisions reads tags, branches and commits by HTTP and from disk.
func TestRevisions(t *testing.T) {
	r := newRepository(t, nil)
	for _, test := range []struct{ revision, text, commit, version string }{
		{"", "new", r.tip, r.tip[:12]},
		{"main", "new", r.tip, r.tip[:12]},
		{"next", "old", r.old, r.old[:12]},
		{"v1.0.0", "old", r.old, "v1.0.0"},
		{"v1.1.0", "new", r.tip, "v1.1.0"}, // annotated
		{"refs/tags/v1.0.0", "old", r.old, "v1.0.0"},
		{r.tip, "new", r.tip, r.tip[:12]},
		{r.old, "old", r.old, r.old[:12]},
	} {
		for _, url := range []string{r.url, "file://" + r.dir} {
			s, err := fetch(t, url, test.revision)
			if err != nil {
				t.Errorf("%s, %q: %v", url, test.revision, err)
				continue
			}
			text, err := s.Files(func(name string) string { return name }).ReadFile("web/main.cue")
			if string(text) != test.text || err != nil || s.Commit != test.commit || s.Version() != test.version {
				t.Errorf("%s, %q: %q, %v, commit %s, version %s", url, test.revision, text, err, s.Commit, s.Version())
			}
		}
	}
}

// TestShallow checks that no history is fetched.
func TestShallow(t *testing.T) {
	r := newRepository(t, nil)
	s, err := fetch(t, r.url, "main")
	if err != nil {
		t.Fatal(err)
	}
	if n := len(s.objects.store.Commits); n != 1 {
		t.Errorf("%d commits", n)
	}
}

// TestCommits checks commits at which no branch ends.
func TestCommits(t *testing.T) {
	r := newRepository(t, nil)
	write(t, r.dir, "web/main.cue", "newest")
	r.commit(t)
	r.git(t, "tag", "-d", "v1.1.0")
	_, err := fetch(t, r.url, r.tip)
	wantError(t, err, oci.NotFound, "no tag or branch ends at the commit, and "+parse(t, r.url, "").URL.Host+" gives no others; name a tag or a branch, or set uploadpack.allowReachableSHA1InWant there")
	r.git(t, "config", "uploadpack.allowReachableSHA1InWant", "true")
	if s, err := fetch(t, r.url, r.tip); err != nil || s.Commit != r.tip {
		t.Errorf("%v", err)
	}
	_, err = fetch(t, r.url, strings.Repeat("ab", 20))
	wantError(t, err, oci.NotFound, "no such commit: error decoding upload-pack response: upload-pack: not our ref "+strings.Repeat("ab", 20)+"; check that it was pushed")
}

func wantError(t *testing.T, err error, cause oci.Cause, message string) {
	t.Helper()
	var e *oci.Error
	if !errors.As(err, &e) || e.Cause != cause || err.Error() != e.Ref+": "+message {
		t.Errorf("error %+v\n(%v), not %s: %s", err, err, cause, message)
	}
}

// TestLinks checks links that leave the module or the repository.
func TestLinks(t *testing.T) {
	r := newRepository(t, nil)
	s, err := fetch(t, r.url, "")
	if err != nil {
		t.Fatal(err)
	}
	root := s.Files(func(name string) string { return "shop/" + name })
	if text, err := root.ReadFile("web/above"); string(text) != "secret" || err != nil {
		t.Errorf("in the repository: %q, %v", text, err)
	}
	web, err := fs.Sub(root, "web")
	if err != nil {
		t.Fatal(err)
	}
	for name, files := range map[string]fs.FS{"web/outside": root, "outside": web, "above": web} {
		if _, err := fs.ReadFile(files, name); err == nil || !strings.Contains(err.Error(), "leaves the directory") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRefused checks references that options refuse, before any request.
func TestRefused(t *testing.T) {
	r := newRepository(t, func(http.Handler) http.Handler {
		return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("a request for %s", r.URL) })
	})
	_, err := Fetch(t.Context(), parse(t, r.url, "v1.0.0"), Options{Offline: true})
	wantError(t, err, oci.Unavailable, "not in the cache, and --offline allows no requests; run the command once without --offline, or use a mirror on disk with git::file:///DIR")
	if _, err := Fetch(t.Context(), parse(t, "file://"+r.dir, "v1.0.0"), Options{Offline: true}); err != nil {
		t.Errorf("offline, from disk: %v", err)
	}
	for _, revision := range []string{"v1.0.0", r.old} {
		if _, err := Fetch(t.Context(), parse(t, r.url, revision), Options{Pins: pins{}}); !errors.Is(err, errUnlocked) {
			t.Errorf("locked, %s: %v", revision, err)
		}
	}
}

// TestHang checks that the end of ctx ends a fetch, whatever the server does, and so does the time
// without a byte.
func TestHang(t *testing.T) {
	type server struct {
		url  string
		auth *Auth
	}
	servers := map[string]server{}
	for _, part := range []string{"info/refs", "git-upload-pack"} {
		ctx, cancel := context.WithCancel(t.Context())
		end := make(chan struct{})
		r := newRepository(t, func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if !strings.HasSuffix(r.URL.Path, part) {
					next.ServeHTTP(w, r)
					return
				}
				cancel()
				<-end
			})
		})
		t.Cleanup(func() { close(end) }) // before the server is closed
		if _, err := Fetch(ctx, parse(t, r.url, ""), Options{}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", part, err)
		}
		servers["HTTP, "+part] = server{url: r.url}
	}
	_, host := sshgit.NewKey(t)
	userKey, user := sshgit.NewKey(t)
	block, err := ssh.MarshalPrivateKey(userKey, "")
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0") // connections are accepted by the kernel
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	for name, addr := range map[string]string{"ssh": listener.Addr().String(), "ssh, with a session": sshgit.ServeSilence(t, host, user.PublicKey())} {
		line := knownhosts.Line([]string{knownhosts.Normalize(addr)}, host.PublicKey())
		servers[name] = server{"ssh://git@" + addr + "/shop.git", &Auth{Key: pem.EncodeToMemory(block), KnownHosts: []byte(line)}}
	}
	var all sync.WaitGroup
	for name, s := range servers {
		ref := parse(t, s.url, "")
		all.Go(func() { // together, because each is repeated after delays
			_, err := Fetch(t.Context(), ref, Options{Auth: s.auth, answerTimeout: 200 * time.Millisecond})
			// If the machine is so busy that the request isn't sent at once, the server sends too little instead of nothing.
			stopped, slow := ref.host()+" stopped sending data", ref.host()+" sends less than 1 KiB in a second"
			if !oci.Causes(err, oci.Unavailable) || !strings.Contains(err.Error(), stopped) && !strings.Contains(err.Error(), slow) {
				t.Errorf("%s: %v, want %s", name, err, stopped)
			}
		})
	}
	all.Wait()
}

// TestDrip checks that a server can't hold a command by sending a byte now and then.
func TestDrip(t *testing.T) {
	r := newRepository(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !strings.HasSuffix(r.URL.Path, "git-upload-pack") {
				next.ServeHTTP(w, r)
				return
			}
			w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
			for r.Context().Err() == nil {
				fmt.Fprint(w, "0")
				w.(http.Flusher).Flush()
				time.Sleep(20 * time.Millisecond)
			}
		})
	})
	_, host := sshgit.NewKey(t)
	userKey, user := sshgit.NewKey(t)
	block, err := ssh.MarshalPrivateKey(userKey, "")
	if err != nil {
		t.Fatal(err)
	}
	addr := sshgit.ServeDrip(t, host, user.PublicKey())
	line := knownhosts.Line([]string{knownhosts.Normalize(addr)}, host.PublicKey())
	for url, auth := range map[string]*Auth{
		r.url: nil, "ssh://git@" + addr + "/shop.git": {Key: pem.EncodeToMemory(block), KnownHosts: []byte(line)},
	} {
		_, err := Fetch(t.Context(), parse(t, url, ""), Options{Auth: auth, answerTimeout: 500 * time.Millisecond})
		if !oci.Causes(err, oci.Unavailable) {
			t.Errorf("%s: %v", url, err)
		}
	}
}
