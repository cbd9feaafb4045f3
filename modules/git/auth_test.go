package git

import (
	"encoding/pem"
	"fmt"
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

// pullSecret is the hint for refused credentials of a Secret.
const pullSecret = "; name a Secret with credentials for it in pullSecretRef"

// TestAuthSSH fetches by ssh with a given key and known hosts, while the user's agent has
// the right key, too, and the user's known_hosts the right host.
func TestAuthSSH(t *testing.T) {
	r := newRepository(t, nil)
	_, host := sshgit.NewKey(t)
	userKey, user := sshgit.NewKey(t)
	otherKey, other := sshgit.NewKey(t)
	addr := sshgit.Serve(t, host, user.PublicKey())
	line := func(key ssh.PublicKey) []byte {
		return []byte(knownhosts.Line([]string{knownhosts.Normalize(addr)}, key) + "\n")
	}
	file := filepath.Join(t.TempDir(), "known_hosts")
	if err := os.WriteFile(file, line(host.PublicKey()), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SSH_KNOWN_HOSTS", file)
	startAgent(t, userKey)
	t.Setenv("TMPDIR", t.TempDir())

	encode := func(block *pem.Block, err error) []byte {
		if err != nil {
			t.Fatal(err)
		}
		return pem.EncodeToMemory(block)
	}
	right := encode(ssh.MarshalPrivateKey(userKey, ""))
	encrypted := encode(ssh.MarshalPrivateKeyWithPassphrase(userKey, "", []byte("hunter2")))
	wrong := encode(ssh.MarshalPrivateKey(otherKey, ""))
	foreign := func(how string) string {
		return fmt.Sprintf("the key of %s is not in known_hosts, or is another one there: ssh: handshake failed: knownhosts: %s; compare it with the one that the host publishes, and add it with ssh-keyscan", addr, how)
	}
	for name, test := range map[string]struct {
		auth    Auth
		cause   oci.Cause
		message string // "" for success
	}{
		"key":              {auth: Auth{Key: right, KnownHosts: line(host.PublicKey())}},
		"encrypted key":    {auth: Auth{Key: encrypted, Passphrase: "hunter2", KnownHosts: line(host.PublicKey())}},
		"password unused":  {auth: Auth{Key: right, Passphrase: "hunter2", KnownHosts: line(host.PublicKey())}},
		"wrong password":   {Auth{Key: encrypted, Passphrase: "hunter3", KnownHosts: line(host.PublicKey())}, oci.Unauthorized, errKey.Error()},
		"no key":           {Auth{Key: []byte("hunter2")}, oci.Unauthorized, errKey.Error()},
		"nothing":          {Auth{}, oci.Unauthorized, errNoKey.Error()},
		"HTTP only":        {Auth{Username: "me", Password: "hunter2"}, oci.Unauthorized, errNoKey.Error()},
		"other key":        {Auth{Key: wrong, KnownHosts: line(host.PublicKey())}, oci.Unauthorized, addr + " refused the credentials"},
		"other host":       {Auth{Key: right, KnownHosts: line(other.PublicKey())}, oci.TLS, foreign("key mismatch")},
		"no known hosts":   {Auth{Key: right}, oci.TLS, foreign("key is unknown")},
		"bad known_hosts ": {Auth{Key: right, KnownHosts: []byte("hunter2\n")}, oci.Unauthorized, errKnownHosts.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Fetch(t.Context(), parse(t, "ssh://git@"+addr+filepath.ToSlash(r.dir), "v1.0.0"), Options{Auth: &test.auth})
			switch {
			case test.message != "":
				wantError(t, err, test.cause, test.message+map[oci.Cause]string{oci.Unauthorized: pullSecret}[test.cause])
				if strings.Contains(err.Error(), "hunter") {
					t.Errorf("a credential is shown: %v", err)
				}
			case err != nil || s.Commit != r.old:
				t.Errorf("%v", err)
			}
			unusable := strings.HasPrefix(name, "wrong") || strings.HasPrefix(name, "bad") || name == "no key"
			if err := test.auth.Check(); (err != nil) != unusable {
				t.Errorf("Check: %v", err)
			}
			if shown := fmt.Sprintf("%v %+v %#v", test.auth, Options{Auth: &test.auth}, &test.auth); strings.Contains(shown, "hunter") {
				t.Errorf("formatted: %s", shown)
			}
		})
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("files that stay: %v, %v", left, err)
	}
}

// TestAuthHTTP fetches with given credentials, while netrc has the right ones, too.
func TestAuthHTTP(t *testing.T) {
	want := "Bearer hunter2"
	r := newRepository(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != want {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	netrc := os.Getenv("NETRC")
	write(t, filepath.Dir(netrc), "netrc", "machine 127.0.0.1 login me password hunter2\n")
	get := func(url string, auth Auth) error {
		_, err := Fetch(t.Context(), parse(t, url, ""), Options{Auth: &auth})
		return err
	}
	host := parse(t, r.url, "").URL.Host
	if err := get(r.url, Auth{BearerToken: "hunter2"}); err != nil {
		t.Errorf("with a token: %v", err)
	}
	wantError(t, get(r.url, Auth{BearerToken: "hunter3"}), oci.Unauthorized, host+" refused the credentials"+pullSecret)
	want = "Basic bWU6aHVudGVyMg==" // me:hunter2
	if err := get(r.url, Auth{Username: "me", Password: "hunter2"}); err != nil {
		t.Errorf("with a password: %v", err)
	}
	wantError(t, get(r.url, Auth{}), oci.Unauthorized, host+" wants credentials"+pullSecret)
	wantError(t, get(r.url, Auth{Username: "me", Password: "hunter3"}), oci.Unauthorized, host+" refused the credentials"+pullSecret)

	// A redirect to another host gets no token.
	var seen []string
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header.Get("Authorization"))
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer other.Close()
	from := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+r.URL.String(), http.StatusFound)
	}))
	defer from.Close()
	if err := get(from.URL+"/shop.git", Auth{BearerToken: "hunter2"}); err == nil || len(seen) != 1 || seen[0] != "" {
		t.Errorf("redirected: %v, %q", err, seen)
	}
}
