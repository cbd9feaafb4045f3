package git

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/pequod-io/pequod/modules/oci"
)

// newKey returns a new key and its signer.
func newKey(t *testing.T) (ed25519.PrivateKey, ssh.Signer) {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return key, signer
}

// serveSSH starts a server for one user's key, which runs git, and returns its address.
func serveSSH(t *testing.T, host ssh.Signer, user ssh.PublicKey) string {
	t.Helper()
	config := &ssh.ServerConfig{PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		if string(key.Marshal()) != string(user.Marshal()) {
			return nil, errors.New("unknown key")
		}
		return nil, nil
	}}
	// Clients prefer this key, which they don't know.
	unknown, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(unknown)
	if err != nil {
		t.Fatal(err)
	}
	config.AddHostKey(signer)
	config.AddHostKey(host)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
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
			go serveConnection(conn, config)
		}
	}()
	return listener.Addr().String()
}

// serveConnection runs git-upload-pack for each session of a connection.
func serveConnection(conn net.Conn, config *ssh.ServerConfig) {
	_, channels, requests, err := ssh.NewServerConn(conn, config)
	if err != nil {
		return // the client has no right to connect
	}
	go ssh.DiscardRequests(requests)
	for c := range channels {
		channel, requests, err := c.Accept()
		if err != nil {
			return
		}
		go func() {
			for r := range requests {
				if r.WantReply {
					_ = r.Reply(r.Type == "exec", nil)
				}
				if r.Type != "exec" {
					continue
				}
				var payload struct{ Command string }
				_ = ssh.Unmarshal(r.Payload, &payload)
				dir := strings.Trim(strings.TrimPrefix(payload.Command, "git-upload-pack "), "'")
				cmd := exec.Command("git", "upload-pack", dir)
				stdin, _ := cmd.StdinPipe()
				go func() { _, _ = io.Copy(stdin, channel); _ = stdin.Close() }()
				cmd.Stdout = channel
				status := struct{ Status uint32 }{}
				if cmd.Run() != nil {
					status.Status = 1
				}
				_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(status))
				_ = channel.Close()
			}
		}()
	}
}

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
	_, host := newKey(t)
	userKey, user := newKey(t)
	otherKey, other := newKey(t)
	addr := serveSSH(t, host, user.PublicKey())
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
	refused := fmt.Sprintf("the key of %s is not in known_hosts, or is another one there", addr)
	trust(other.PublicKey())
	_, err = fetch(t, url, "v1.0.0")
	wantError(t, err, oci.TLS, refused)
	if err := os.WriteFile(known, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = fetch(t, url, "v1.0.0")
	wantError(t, err, oci.TLS, refused)
	trust(host.PublicKey())
	for _, keys := range [][]ed25519.PrivateKey{nil, {otherKey}} {
		startAgent(t, keys...)
		_, err = fetch(t, url, "v1.0.0")
		wantError(t, err, oci.Unauthorized, addr+" wants a key; add it to the ssh agent with ssh-add")
	}
}
