package git

import (
	"crypto/ed25519"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/pequod-io/pequod/modules/oci"
	"github.com/pequod-io/pequod/test/sshgit"
)

// startAgent starts an agent with keys.
func startAgent(t *testing.T, keys ...ed25519.PrivateKey) {
	t.Helper()
	ring := agent.NewKeyring()
	for _, key := range keys {
		if err := ring.Add(agent.AddedKey{PrivateKey: key}); err != nil {
			t.Fatal(err)
		}
	}
	dir, err := os.MkdirTemp("", "agent") // the name of a socket is limited to 100 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	listener, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return // the test has ended
			}
			go func() { _ = agent.ServeAgent(ring, conn) }()
		}
	}()
	t.Setenv("SSH_AUTH_SOCK", listener.Addr().String())
}

// TestSSH fetches by ssh from a real server, with the key of an agent, and refuses hosts that
// are unknown or have another key.
func TestSSH(t *testing.T) {
	r := newRepository(t, nil)
	_, host := sshgit.NewKey(t)
	userKey, user := sshgit.NewKey(t)
	otherKey, other := sshgit.NewKey(t)
	addr := sshgit.Serve(t, host, user.PublicKey())
	known := filepath.Join(t.TempDir(), "known_hosts")
	t.Setenv("SSH_KNOWN_HOSTS", known)
	url := "ssh://git@" + addr + filepath.ToSlash(r.dir)
	trust := func(key ssh.PublicKey) {
		line := knownhosts.Line([]string{knownhosts.Normalize(addr)}, key)
		if err := os.WriteFile(known, []byte(line+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	startAgent(t, userKey)
	trust(host.PublicKey())
	s, err := fetch(t, url, "v1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	if s.Commit != r.old {
		t.Errorf("commit %s, want %s", s.Commit, r.old)
	}
	refused := fmt.Sprintf("the key of %s is not in known_hosts, or is another one there: ssh: handshake failed: knownhosts: KEY; compare it with the one that the host publishes, and add it with ssh-keyscan", addr)
	trust(other.PublicKey())
	_, err = fetch(t, url, "v1.0.0")
	wantError(t, err, oci.TLS, strings.Replace(refused, "KEY", "key mismatch", 1))
	if err := os.WriteFile(known, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = fetch(t, url, "v1.0.0")
	wantError(t, err, oci.TLS, strings.Replace(refused, "KEY", "key is unknown", 1))
	trust(host.PublicKey())
	for _, keys := range [][]ed25519.PrivateKey{nil, {otherKey}} {
		startAgent(t, keys...)
		_, err = fetch(t, url, "v1.0.0")
		wantError(t, err, oci.Unauthorized, addr+" wants a key: ssh: handshake failed: ssh: unable to authenticate, attempted methods [none publickey], no supported methods remain; add it to the ssh agent with ssh-add")
	}
}
