package fetch_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
	corev1 "k8s.io/api/core/v1"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/operator/fetch"
	optransform "github.com/pequod-io/pequod/operator/transform"
)

var _ optransform.Fetcher = (*fetch.Fetcher)(nil)

// newSSHKey returns a signer, and its private key in PEM format.
func newSSHKey(t *testing.T) (ssh.Signer, string) {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(key, "")
	if err != nil {
		t.Fatal(err)
	}
	return signer, string(pem.EncodeToMemory(block))
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

// serveConnection runs git-upload-pack for the first session of a connection. Clients find out
// that something failed.
func serveConnection(conn net.Conn, config *ssh.ServerConfig) {
	defer conn.Close()
	_, channels, requests, err := ssh.NewServerConn(conn, config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	accepted, ok := <-channels
	if !ok {
		return
	}
	channel, requests, err := accepted.Accept()
	if err != nil {
		return
	}
	for r := range requests {
		if r.WantReply {
			_ = r.Reply(r.Type == "exec", nil)
		}
		if r.Type != "exec" {
			continue
		}
		var payload struct{ Command string }
		_ = ssh.Unmarshal(r.Payload, &payload)
		cmd := exec.Command("git", "upload-pack", strings.Trim(strings.TrimPrefix(payload.Command, "git-upload-pack "), "'"))
		stdin, err := cmd.StdinPipe()
		if err != nil {
			return
		}
		go func() { _, _ = io.Copy(stdin, channel); _ = stdin.Close() }()
		cmd.Stdout = channel
		status := struct{ Status uint32 }{}
		if cmd.Run() != nil {
			status.Status = 1
		}
		_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(status))
		_ = channel.Close()
	}
}

// TestSSH fetches a module of a git server by ssh, with the key and the known hosts of a
// Secret.
func TestSSH(t *testing.T) {
	c := start(t)
	r := newRepository(t)
	host, _ := newSSHKey(t)
	user, private := newSSHKey(t)
	other, foreign := newSSHKey(t)
	address := serveSSH(t, host, user.PublicKey())
	t.Setenv("SSH_AUTH_SOCK", "") // the process has no agent
	line := func(key ssh.PublicKey) string {
		return knownhosts.Line([]string{knownhosts.Normalize(address)}, key) + "\n"
	}
	c.secret(t, "right", corev1.SecretTypeSSHAuth, map[string]string{"ssh-privatekey": private, "known_hosts": line(host.PublicKey())})
	c.secret(t, "foreign", corev1.SecretTypeOpaque, map[string]string{"identity": foreign, "known_hosts": line(host.PublicKey())})
	c.secret(t, "impostor", corev1.SecretTypeSSHAuth, map[string]string{"ssh-privatekey": private, "known_hosts": line(other.PublicKey())})
	c.secret(t, "unknown", corev1.SecretTypeSSHAuth, map[string]string{"ssh-privatekey": private})
	f := c.fetcher(t, nil)
	for secret, want := range map[string]string{
		"right": "", "foreign": "Unauthorized", "impostor": "TLS", "unknown": fetch.SecretInvalid, "": "Unauthorized",
	} {
		ref := v1alpha1.CueRef{Type: v1alpha1.CueRefGit, Ref: "git::ssh://git@" + address + r.dir + "//modules?ref=main"}
		if secret != "" {
			ref.PullSecretRef = &secret
		}
		fetched, err := f.Fetch(t.Context(), transformOf(c.Namespace, ref))
		if want != "" {
			wantReason(t, secret, err, want)
		} else if err != nil || loads(t, fetched) != "" {
			t.Errorf("%s: %v", secret, err)
		}
	}
}
