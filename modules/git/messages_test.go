package git

import (
	"crypto/ed25519"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/pequod-io/pequod/modules/oci"
	"github.com/pequod-io/pequod/test/messages"
	"github.com/pequod-io/pequod/test/sshgit"
)

// says returns a server that answers all requests with a status and words.
func says(status int, words string, headers ...string) func(http.Handler) http.Handler {
	return func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i < len(headers); i += 2 {
				w.Header().Set(headers[i], headers[i+1])
			}
			w.WriteHeader(status)
			fmt.Fprint(w, words)
		})
	}
}

// TestMessages checks that the errors about real failures keep the words of git and its servers,
// and tell what to do.
func TestMessages(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give a repository to another user")
	}
	type row struct {
		name, url, revision string
		options             Options
		cause               oci.Cause
		said, next          string
		err                 error
	}
	retry := "check the address and the network, or try again later"
	var rows []*row
	add := func(name, url, revision string, cause oci.Cause, said, next string) *row {
		r := &row{name: name, url: url, revision: revision, cause: cause, said: said, next: next}
		rows = append(rows, r)
		return r
	}
	server := func(name string, wrap func(http.Handler) http.Handler, cause oci.Cause, said, next string) {
		add(name, newRepository(t, wrap).url, "main", cause, said, next)
	}
	server("401", says(401, "remote: HTTP Basic: Access denied."), oci.Unauthorized,
		"wants credentials, or others than those in netrc: remote: HTTP Basic: Access denied.", "add 'machine 127.0.0.1 login USER password TOKEN' to netrc")
	server("403", says(403, "remote: Write access not granted."), oci.Forbidden, "denied access: remote: Write access not granted.", "check what the account or its token may read")
	server("404", says(404, "remote: Repository not found."), oci.NotFound,
		"no such repository, or no access without credentials: remote: Repository not found.", "check the address and netrc")
	server("418", says(418, "short and stout"), oci.Unavailable, "answered 418 I'm a teapot: short and stout", retry)
	server("429", says(429, "slow down", "Retry-After", "3600"), oci.RateLimited, "limits the number of requests: slow down", "try again in 1h0m0s")
	server("500", says(500, "the disk is full"), oci.Unavailable, "answered 500 Internal Server Error: the disk is full", retry)
	server("page", says(200, "<html>Sign in", "Content-Type", "text/html"), oci.Unavailable, "answered with an HTML page", "check the address, the credentials and HTTPS_PROXY")

	r := newRepository(t, nil)
	add("revision", r.url, "v9", oci.NotFound, `no tag or branch "v9"`, "there are: v1.0.0, main, next")
	write(t, r.dir, "web/main.cue", "newest")
	r.commit(t)
	tip := r.git(t, "rev-parse", "HEAD~1")
	r.git(t, "tag", "-d", "v1.1.0")
	add("hidden commit", r.url, tip, oci.NotFound, "no tag or branch ends at the commit", "name a tag or a branch, or set uploadpack.allowReachableSHA1InWant there")
	open := newRepository(t, nil)
	open.git(t, "config", "uploadpack.allowReachableSHA1InWant", "true")
	add("no commit", open.url, strings.Repeat("ab", 20), oci.NotFound, "upload-pack: not our ref "+strings.Repeat("ab", 20), "check that it was pushed")
	large := newRepository(t, nil)
	write(t, large.dir, "huge", "")
	if err := os.Truncate(filepath.Join(large.dir, "huge"), maxUnpacked+1); err != nil {
		t.Fatal(err)
	}
	large.commit(t)
	add("size", large.url, "main", oci.TooLarge, "larger than 256 MiB", "publish the module with 'pequod module push', or keep it in a repository of its own")
	made := func(args ...string) string {
		other := &repository{dir: filepath.Join(t.TempDir(), "shop.git")}
		if err := os.Mkdir(other.dir, 0o755); err != nil {
			t.Fatal(err)
		}
		other.git(t, append([]string{"init", "-q", "-b", "main"}, args...)...)
		return other.dir
	}
	add("empty", "file://"+made(), "main", oci.NotFound, "the repository is empty", "push a commit first")
	sha256 := &repository{dir: made("--object-format=sha256")}
	write(t, sha256.dir, "main.cue", "x")
	sha256.commit(t)
	add("SHA-256", "file://"+sha256.dir, "main", oci.WrongType, "SHA-256", "use a repository with SHA-1, or publish the module with 'pequod module push'")
	headless := newRepository(t, nil)
	headless.git(t, "symbolic-ref", "HEAD", "refs/heads/none")
	add("no default branch", headless.url, "", oci.NotFound, "no default branch", "name a revision with ?ref=")
	bare := newRepository(t, func(git http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
			const head = "cafecafecafecafecafecafecafecafecafecafe HEAD\x00symref=HEAD:refs/heads/main"
			fmt.Fprintf(w, "001e# service=git-upload-pack\n0000%04x%s\n0000", len(head)+5, head)
		})
	})
	add("no branches", bare.url, "v1", oci.NotFound, `no tag or branch "v1"; the repository has none`, "push it first")
	foreign := newRepository(t, nil)
	for _, dir := range []string{foreign.dir, filepath.Join(foreign.dir, ".git")} {
		if err := os.Chown(dir, 12345, 12345); err != nil {
			t.Fatal(err)
		}
	}
	add("dubious ownership", "file://"+foreign.dir, "main", oci.Forbidden,
		"detected dubious ownership in repository at '"+foreign.dir, "run 'git config --global --add safe.directory "+foreign.dir+"/.git' if you trust it")
	add("no directory", "file:///nowhere/at/all", "main", oci.NotFound, "no such repository", "check the address and netrc")
	offline := add("offline", r.url, "main", oci.Unavailable, "--offline allows no requests", "run the command once without --offline, or use a mirror on disk with git::file:///DIR")
	offline.options.Offline = true

	closed := httptest.NewServer(nil)
	closed.Close()
	add("refused", closed.URL+"/shop.git", "main", oci.Unavailable, "connection refused", retry)
	add("name", "https://git.invalid/shop.git", "main", oci.Unavailable, "cannot find host git.invalid: ", "check its name and the network")
	secure := httptest.NewTLSServer(nil)
	t.Cleanup(secure.Close)
	add("authority", secure.URL+"/shop.git", "main", oci.TLS, "certificate signed by unknown authority",
		"add its authority to those of the system, or to the file that $SSL_CERT_FILE names")
	slow := add("timeout", closed.URL+"/shop.git", "main", oci.Unavailable, "does not answer in time", retry)
	slow.options.Transport = &http.Transport{DialContext: (&net.Dialer{Timeout: time.Nanosecond}).DialContext, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}}

	var all sync.WaitGroup
	for _, r := range rows {
		all.Go(func() { _, r.err = Fetch(t.Context(), parse(t, r.url, r.revision), r.options) })
	}
	all.Wait()

	// The rest depends on the environment of the process.
	_, host := sshgit.NewKey(t)
	userKey, user := sshgit.NewKey(t)
	otherKey, _ := sshgit.NewKey(t)
	addr := sshgit.Serve(t, host, user.PublicKey())
	known := filepath.Join(t.TempDir(), "known_hosts")
	t.Setenv("SSH_KNOWN_HOSTS", known)
	ssh := func(name, line string, key ed25519.PrivateKey, cause oci.Cause, said, next string) {
		startAgent(t, key)
		if err := os.WriteFile(known, []byte(line), 0o600); err != nil {
			t.Fatal(err)
		}
		r := add(name, "ssh://git@"+addr+filepath.ToSlash(r.dir), "main", cause, said, next)
		_, r.err = fetch(t, r.url, r.revision)
	}
	ssh("unknown host", "", userKey, oci.TLS, "knownhosts: key is unknown", "compare it with the one that the host publishes, and add it with ssh-keyscan")
	ssh("unknown key", knownhosts.Line([]string{knownhosts.Normalize(addr)}, host.PublicKey()), otherKey, oci.Unauthorized,
		"ssh: unable to authenticate", "add it to the ssh agent with ssh-add")
	given := add("given key", "ssh://git@"+addr+"/x", "main", oci.Unauthorized, "ssh wants a private key", "name a Secret with credentials for it in pullSecretRef")
	_, given.err = Fetch(t.Context(), parse(t, given.url, ""), Options{Auth: &Auth{}})
	t.Setenv("PATH", "")
	none := add("no git", "file://"+r.dir, "main", oci.Unavailable, "git, which is not installed", "install it, or use another address")
	_, none.err = fetch(t, none.url, none.revision)

	var found []string
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			messages.Check(t, r.err, r.said, r.next)
			if e := (*oci.Error)(nil); !errors.As(r.err, &e) || e.Cause != r.cause {
				t.Errorf("%v; want cause %s", r.err, r.cause)
			}
			found = append(found, fmt.Sprint(r.err))
		})
	}
	messages.Covered(t, "error.go", []string{"classify", "causeOf"}, found)
	messages.Covered(t, "revision.go", []string{"resolve", "commitOf"}, found)
}
