package git

import (
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/pequod-io/pequod/modules/oci"
	"github.com/pequod-io/pequod/test/sshgit"
)

// TestParseRef covers references and those that are refused, without their credentials.
func TestParseRef(t *testing.T) {
	for in, want := range map[string]string{
		"git::https://example.com/a/b.git//web/shop?ref=v1.0.0": "",
		"git::ssh://git@example.com:2222/a.git//web?ref=feat/x": "",
		"git::file:///srv/a.git":                                "",
		"git::http://127.0.0.1:80/a":                            "",
		"https://example.com/a.git":                             "git::https://example.com/a.git",
		"git::https://example.com/a.git//?ref=main":             "git::https://example.com/a.git?ref=main",
		"git::https://u:secret@example.com/a":                   "error: git::https://example.com/a: credentials don't belong in a reference: use netrc or an ssh agent",
		"git::https://secret@example.com/a":                     "error: git::https://example.com/a: credentials don't belong in a reference: use netrc or an ssh agent",
		"git::ssh://git:secret@example.com/a":                   "error: git::ssh://example.com/a: credentials don't belong in a reference: use netrc or an ssh agent",
		"git::https://u:secret%zz@example.com/a":                "error: the address of a git repository is not a valid URL; want " + form,
		"git::http://example.com/a":                             "error: git::http://example.com/a: http is only for servers on this machine; use https",
		"git::git@example.com:a/b.git":                          "error: the address of a git repository is not a valid URL; want " + form,
		"git::ftp://example.com/a":                              "error: git::ftp://example.com/a: want " + form,
		"git::file://host/a":                                    "error: git::file://host/a: want " + form,
		"git::https://example.com":                              "error: git::https://example.com: no repository; want " + form,
		"git::https://example.com/a?depth=1":                    "error: git::https://example.com/a?depth=1: the only parameter is ref; want " + form,
		"git::https://example.com/a?ref=a&ref=b":                "error: git::https://example.com/a?ref=a&ref=b: the only parameter is ref; want " + form,
		"git::https://example.com/a?ref=":                       "error: git::https://example.com/a?ref=: ref is not a tag, a branch or a commit",
		"git::https://example.com/a//../b":                      "error: git::https://example.com/a//../b: ../b leads out of the repository",
	} {
		ref, err := ParseRef(in)
		got := ""
		if err != nil {
			got = "error: " + err.Error()
		} else if got = ref.String(); want == "" {
			want = in
		}
		if got != want {
			t.Errorf("%s:\n%s\nwant\n%s", in, got, want)
		}
	}
}

// TestNearest checks the errors about revisions that don't exist.
func TestNearest(t *testing.T) {
	r := newRepository(t, nil)
	for revision, want := range map[string]string{
		"v1.0.1": `no tag or branch "v1.0.1"; there are: v1.0.0, v1.1.0, main, next`,
		"mian":   `no tag or branch "mian"; there are: main, v1.1.0, v1.0.0, next`,
	} {
		_, err := fetch(t, r.url, revision)
		wantError(t, err, oci.NotFound, want)
	}
	_, err := fetch(t, strings.TrimSuffix(r.url, "shop.git/.git")+"none.git", "")
	wantError(t, err, oci.NotFound, "no such repository, or no access without credentials; check the address and netrc")
}

// TestObjectFormat checks the error about a repository with object names that the library
// can't read.
func TestObjectFormat(t *testing.T) {
	r := newRepository(t, nil)
	if err := os.RemoveAll(filepath.Join(r.dir, ".git")); err != nil {
		t.Fatal(err)
	}
	r.git(t, "init", "-q", "-b", "main", "--object-format=sha256")
	r.commit(t)
	for _, url := range []string{r.url, "file://" + r.dir} {
		_, err := fetch(t, url, "")
		wantError(t, err, oci.WrongType, "the object format of the repository is SHA-256, which is not supported; use a repository with SHA-1, or publish the module with 'pequod module push'")
	}
}

// TestCredentials checks that credentials of netrc are used, for their host only, and that
// no message has them.
func TestCredentials(t *testing.T) {
	status := http.StatusUnauthorized
	r := newRepository(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if user, password, _ := r.BasicAuth(); user != "me" || password != "secret" {
				http.Error(w, "not "+r.Header.Get("Authorization"), status)
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	host := parse(t, r.url, "").URL.Host
	_, err := fetch(t, r.url, "")
	wantError(t, err, oci.Unauthorized, host+" wants credentials, or others than those in netrc: not; add 'machine 127.0.0.1 login USER password TOKEN' to netrc")
	netrc := os.Getenv("NETRC")
	write(t, filepath.Dir(netrc), "netrc", "machine 127.0.0.1 login me password wrong\n")
	status = http.StatusForbidden
	_, err = fetch(t, r.url, "")
	wantError(t, err, oci.Forbidden, host+" denied access; check what the account or its token may read")
	write(t, filepath.Dir(netrc), "netrc", "machine 127.0.0.1 login me password secret\n")
	if _, err := fetch(t, r.url, ""); err != nil {
		t.Errorf("with credentials: %v", err)
	}
	// A redirect to another host gets none.
	var seen []string
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header.Get("Authorization"))
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer other.Close()
	from := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "" {
			t.Error("no credentials for the host itself")
		}
		http.Redirect(w, r, other.URL+r.URL.String(), http.StatusFound)
	}))
	defer from.Close()
	_, err = fetch(t, from.URL+"/shop.git", "")
	if err == nil || strings.Contains(err.Error(), "secret") || len(seen) != 1 || seen[0] != "" {
		t.Errorf("redirected: %v, %q", err, seen)
	}
}

// TestAnswers checks servers that fail or are none.
func TestAnswers(t *testing.T) {
	for status, want := range map[int]string{http.StatusInternalServerError: "answered 500", http.StatusOK: "answered with an HTML page"} {
		r := newRepository(t, func(http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(status)
				_, _ = w.Write([]byte("<html>\nnot git</html>"))
			})
		})
		_, err := fetch(t, r.url, "")
		if !oci.Causes(err, oci.Unavailable) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%d: %v", status, err)
		}
	}
}

// TestLimits checks revisions that are too large, compressed or not.
func TestLimits(t *testing.T) {
	r := newRepository(t, nil)
	huge := filepath.Join(r.dir, "huge")
	write(t, r.dir, "huge", "")
	if err := os.Truncate(huge, maxUnpacked+1); err != nil { // 256 KiB compressed
		t.Fatal(err)
	}
	r.git(t, "add", "huge")
	r.git(t, "commit", "-q", "-m", "huge")
	_, err := fetch(t, r.url, "main")
	wantError(t, err, oci.TooLarge, "the revision is larger than 256 MiB; publish the module with 'pequod module push', or keep it in a repository of its own")
	if s, err := fetch(t, r.url, "v1.1.0"); err != nil || s.Tag != "v1.1.0" {
		t.Errorf("before it was added: %v", err)
	}
}

// TestEndlessAnswer checks a server that never stops.
func TestEndlessAnswer(t *testing.T) {
	b := &body{endless{}, 100, errLargePack}
	buf := make([]byte, 64)
	n := 0
	for {
		m, err := b.Read(buf)
		n += m
		if errors.Is(err, errLargePack) {
			break
		}
		if err != nil || n > 100 {
			t.Fatal(n, err)
		}
	}
	if n != 100 {
		t.Errorf("%d bytes", n)
	}
}

// TestEndlessList checks a server whose list of branches never ends.
func TestEndlessList(t *testing.T) {
	list := func(w io.Writer) {
		for i := 0; ; i++ {
			capabilities := ""
			if i == 0 {
				capabilities = "\x00ofs-delta"
			}
			line := fmt.Sprintf("%040x refs/heads/%0900d%s\n", i+1, i, capabilities)
			if _, err := fmt.Fprintf(w, "%04x%s", len(line)+4, line); err != nil {
				return // the client is gone
			}
		}
	}
	r := newRepository(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
			fmt.Fprint(w, "001e# service=git-upload-pack\n0000")
			list(w)
		})
	})
	_, err := fetch(t, r.url, "main")
	wantError(t, err, oci.TooLarge, "the list of tags and branches is larger than 16 MiB; publish the module with 'pequod module push', or keep it in a repository of its own")
	_, host := sshgit.NewKey(t)
	userKey, user := sshgit.NewKey(t)
	block, err := ssh.MarshalPrivateKey(userKey, "")
	if err != nil {
		t.Fatal(err)
	}
	addr := sshgit.ServeAnswer(t, host, user.PublicKey(), list)
	line := knownhosts.Line([]string{knownhosts.Normalize(addr)}, host.PublicKey())
	_, err = Fetch(t.Context(), parse(t, "ssh://git@"+addr+"/shop.git", ""), Options{Auth: &Auth{Key: pem.EncodeToMemory(block), KnownHosts: []byte(line)}})
	if err == nil || !strings.Contains(err.Error(), "no usable answer") {
		t.Error(err)
	}
}

// endless is an answer without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }
func (endless) Close() error               { return nil }

// TestKnownHosts checks that ssh needs known hosts and an agent, without a server.
func TestKnownHosts(t *testing.T) {
	t.Setenv("SSH_AUTH_SOCK", "")
	t.Setenv("HOME", t.TempDir())
	ref, err := ParseRef("git::ssh://git@127.0.0.1:1/a.git")
	if err != nil {
		t.Fatal(err)
	}
	_, err = Fetch(t.Context(), ref, Options{})
	wantError(t, err, oci.Unauthorized, `127.0.0.1:1 wants a key: error creating SSH agent: "SSH agent requested but SSH_AUTH_SOCK not-specified"; add it to the ssh agent with ssh-add`)
}
